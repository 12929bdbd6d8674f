// When a claim has waited long enough for the node that the scheduler chose for it.
#pragma once

#include <optional>
#include <string>

#include "provisioner/controller/capacity/node_health.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// Whether the claim waits for the daemon of its selected node to make its volume.
bool waits_for_node(const Claim& claim, bool volume_exists);

// Why nobody on that node will do so, in words; nullopt: it is to be expected still. The scheduler
// never takes its choice back by itself: while the annotation is there only that node is
// considered (pkg/controller/volume/scheduling).
std::optional<std::string> objection_to_node(const std::string& node, const NodeHealth& health,
                                             std::chrono::nanoseconds node_lost_after);

}  // namespace flexlocal::provisioner
