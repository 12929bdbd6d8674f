#include "provisioner/controller/reclaim/reclaim_plan.h"

namespace flexlocal::provisioner {

ReclaimPlan plan_reclaim(const Volume& volume, const std::string& node) {
  if (volume.node != node || !is_ours(volume)) return ReclaimPlan::kLeaveAlone;
  // Let go already, by us or by force: what is left of the object is pv-protection's, and the watch
  // will say that it is gone. Its data, if force left any, is an orphan.
  if (volume.deleting && !is_held(volume)) return ReclaimPlan::kLeaveAlone;
  const bool released = volume.phase == "Released" || volume.phase == "Failed";
  if (released && volume.reclaim_policy == "Delete") return ReclaimPlan::kRemove;
  if (!volume.deleting) return ReclaimPlan::kLeaveAlone;
  // While bound, pv-protection holds the object too; our finalizer only goes with the claim.
  if (volume.phase == "Bound") return ReclaimPlan::kKeepDeleting;
  // Whatever else a policy may be called: only Delete says that the data may go.
  return volume.reclaim_policy == "Delete" ? ReclaimPlan::kRelease : ReclaimPlan::kRetain;
}

}  // namespace flexlocal::provisioner
