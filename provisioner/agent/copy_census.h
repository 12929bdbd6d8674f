// The copies that a host has and no order names, for the roll that its agent tells.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "flexvolume/engine/engine.h"
#include "provisioner/objects/copy_roll.h"

namespace flexlocal::provisioner {

// Of this cluster, by records and tags of one look. `is_ordered`: whether an order names that copy
// of the volume. A promise that was given up is none: nothing of it is here.
std::vector<ToldCopy> unordered_copies(
    const engine::Inventory& seen, const std::string& cluster_id,
    const std::function<bool(const engine::VolumeSpec& spec)>& is_ordered);

}  // namespace flexlocal::provisioner
