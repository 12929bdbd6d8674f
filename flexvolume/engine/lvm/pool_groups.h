// Which volume groups a node's pools have.
#pragma once

#include <set>
#include <string>

#include "flexvolume/engine/host/node_config.h"

namespace flexlocal::engine {

inline std::set<std::string> groups_of(const NodeConfig& config) {
  std::set<std::string> groups;
  for (const auto& [name, pool] : config.pools)
    if (!pool.volume_group.empty()) groups.insert(pool.volume_group);
  return groups;
}

}  // namespace flexlocal::engine
