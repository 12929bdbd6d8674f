// What is written to a claim's annotations. What its growth writes to its status: growth_status.h.
#pragma once

#include <string>

#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// The merge patch that chooses the node, if the claim still has the version that was decided on.
std::string patch_with_selected_node(const Claim& claim, const std::string& node);
// The merge patch that takes the choice back, if the claim still has the version that was decided
// on.
std::string patch_without_selected_node(const Claim& claim);

}  // namespace flexlocal::provisioner
