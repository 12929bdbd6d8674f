#include "provisioner/controller/reclaim/missing_plan.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {

bool is_missing(const Volume& volume, const std::string& node, const std::string& node_uid,
                const engine::Inventory& inventory) {
  const bool ours = volume.node == node && volume.driver == engine::kDriver && !volume.migrated;
  const bool other_node =
      !node_uid.empty() && !volume.node_uid.empty() && volume.node_uid != node_uid;
  if (!ours || !other_node || volume.phase != "Bound") return false;
  const bool to_be_made =
      std::any_of(inventory.promised.begin(), inventory.promised.end(),
                  [&](const auto& promised) { return promised.name.text() == volume.name; });
  if (to_be_made) return false;
  return std::none_of(
      inventory.holdings.begin(), inventory.holdings.end(),
      [&](const engine::Holding& holding) { return holding.volume == volume.name; });
}

std::string missing_text(const Volume& volume, const std::string& node) {
  return concat("node ", node, " was created anew and does not have the data of volume ",
                volume.name,
                "; if the disks of the old node still exist, attach them to this one; else delete "
                "the claim and its pod, and restore the data from elsewhere");
}

}  // namespace flexlocal::provisioner
