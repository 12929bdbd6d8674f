// What the facts of a node mean for its volumes: pure, so that every finding is a row in a test.
#pragma once

#include <vector>

#include "flexvolume/cli/finding.h"
#include "flexvolume/cli/node_facts.h"

namespace flexlocal::cli {

// One finding for everything that a mount needs, and for each pool of node.conf, in a fixed order.
std::vector<Finding> diagnose(const NodeFacts& facts);

// The part that is about the pools.
std::vector<Finding> diagnose_pools(const engine::NodeConfig& config, const NodeFacts& facts);

}  // namespace flexlocal::cli
