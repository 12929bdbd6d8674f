#include "provisioner/controller/reclaim/lost_volume_plan.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

bool is_released(const Volume& volume) {
  return volume.phase == "Released" || volume.phase == "Failed";
}

}  // namespace

LostVolumePlan plan_lost_volume(const Volume& volume, NodeDeletePolicy policy) {
  if (volume.node.empty() || !is_ours(volume)) return LostVolumePlan::kNothing;
  if (volume.deleting && !is_held(volume)) return LostVolumePlan::kNothing;
  if (policy == NodeDeletePolicy::kReport || volume.phase == "Bound")
    return LostVolumePlan::kReport;
  if (volume.deleting) return LostVolumePlan::kRelease;
  if (policy == NodeDeletePolicy::kDelete && is_released(volume) &&
      volume.reclaim_policy == "Delete")
    return LostVolumePlan::kDelete;
  return LostVolumePlan::kReport;
}

std::string advice_on(const Volume& volume) {
  const std::string there = concat("node ", volume.node, " was deleted, and the data of volume ",
                                   volume.name, " is on its disks: register the node again, or ");
  const std::string drop =
      concat("kubectl delete pv ", volume.name, " --wait=false && kubectl patch pv ", volume.name,
             R"( -p '{"metadata":{"finalizers":null}}')");
  if (volume.deleting && volume.phase != "Bound")
    return concat(there, "let go of the data: kubectl patch pv ", volume.name,
                  R"( -p '{"metadata":{"finalizers":null}}')");
  if (volume.phase == "Bound")
    return concat(there, "give the data up: delete the claim and its pods, then ", drop);
  return concat(there, "give the data up: ", drop);
}

}  // namespace flexlocal::provisioner
