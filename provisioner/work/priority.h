// What a pod waits for, and what can wait.
#pragma once

#include <string>

#include "provisioner/kube/work_queue.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// Of work on a claim. Awaited: the scheduler chose this node for it and it has no volume yet, or it
// asks for more than `volume`, its own, has. All else is background. nullptr: not known.
kube::Priority priority_of(const Claim* claim, const Volume* volume, const std::string& node);

}  // namespace flexlocal::provisioner
