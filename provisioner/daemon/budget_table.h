// The budgets of all nodes as a table for people.
#pragma once

#include <string>
#include <vector>

#include "provisioner/objects/heartbeat_record.h"

namespace flexlocal::provisioner {

// A line for each node, pool and backend, in that order, under a heading: what its volumes may have
// in all, what they have, what is left, and which of RAM and disk ends first; all by the nodes' own
// ratios. A daemon without a sign of life until `now`, or with trouble, says so instead.
std::string budget_table(const std::vector<NodeHeartbeat>& beats, Clock::Wall now);

}  // namespace flexlocal::provisioner
