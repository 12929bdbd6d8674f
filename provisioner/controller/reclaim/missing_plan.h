// Which bound volumes a node that was created anew does not have: a pure decision.
#pragma once

#include <string>

#include "flexvolume/engine/engine.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// Whether the volume was made on a Node of this name with another uid, is bound, and is not among
// what this node's disks hold. False while either uid is not known.
bool is_missing(const Volume& volume, const std::string& node, const std::string& node_uid,
                const engine::Inventory& inventory);

// What a person should know and do, in one sentence.
std::string missing_text(const Volume& volume, const std::string& node);

}  // namespace flexlocal::provisioner
