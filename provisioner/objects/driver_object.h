// The CSIDriver of our name, by which the scheduler asks for room: see capacity_object.h.
#pragma once

#include <string>

#include "flexvolume/base/json.h"
#include "provisioner/kube/event_correlator.h"

namespace flexlocal::provisioner {

// The object to create.
std::string driver_json();

// One as the API server has it.
struct RegisteredDriver {
  std::string differs;  // from what it should be, in words; empty: it does not
  kube::ObjectReference reference;
};
RegisteredDriver decode_driver(JsonView driver);

}  // namespace flexlocal::provisioner
