// The CSIDriver of our name, by which the scheduler asks for room: see capacity_object.h.
#pragma once

#include <optional>
#include <string>

#include "flexvolume/base/json.h"
#include "provisioner/kube/event_correlator.h"

namespace flexlocal::provisioner {

// The object to create.
std::string driver_json();
// In what a present one is not as it should be, in words; nullopt: it is.
std::optional<std::string> driver_differs(JsonView driver);

// For events.
kube::ObjectReference reference_to_driver(JsonView driver);

}  // namespace flexlocal::provisioner
