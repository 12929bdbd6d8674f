#include "provisioner/reclaim_plan.h"

#include <algorithm>

namespace flexlocal::provisioner {

ReclaimPlan plan_reclaim(const Volume& volume, const std::string& node) {
  if (volume.node != node || !is_ours(volume)) return ReclaimPlan::kLeaveAlone;
  const bool released = volume.phase == "Released" || volume.phase == "Failed";
  if (released && volume.reclaim_policy == "Delete") return ReclaimPlan::kRemove;
  const bool held = std::find(volume.finalizers.begin(), volume.finalizers.end(), kFinalizer) !=
                    volume.finalizers.end();
  if (!volume.deleting || !held) return ReclaimPlan::kLeaveAlone;
  // While bound, pv-protection holds the object too; our finalizer only goes with the claim.
  return volume.phase == "Bound" ? ReclaimPlan::kKeepDeleting : ReclaimPlan::kLetGo;
}

}  // namespace flexlocal::provisioner
