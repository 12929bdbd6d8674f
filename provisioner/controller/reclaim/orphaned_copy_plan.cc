#include "provisioner/controller/reclaim/orphaned_copy_plan.h"

#include <algorithm>

namespace flexlocal::provisioner {

OrphanedCopyPlan plan_orphaned_copy(const OrphanedCopy& copy, OrphanPolicy policy,
                                    std::chrono::nanoseconds grace) {
  using Action = OrphanedCopyAction;
  if (copy.claim_lives) return {Action::kReportToClaim};
  if (copy.age < std::min<std::chrono::nanoseconds>(grace, kOrphanTold)) return {Action::kWait};
  // A restore of etcd looks just so.
  if (!copy.is_ordered)
    return {Action::kReport, "it may be of an API server that was put back to an earlier state"};
  if (copy.retained) return {Action::kReport, "it is retained, by its reclaim policy or a person"};
  if (copy.node_is_gone) return {Action::kReport, "its node was deleted"};
  if (policy == OrphanPolicy::kReport)
    return {Action::kReport, "orphans are removed by --orphan-policy=delete"};
  if (copy.in_doubt)
    return {Action::kReport,
            "it is not deleted, since the API server may have been put back to an earlier state, "
            "and have forgotten whose it is"};
  if (copy.removable_for < grace)
    return {Action::kAnnounce, "--orphan-policy=delete removes it when --orphan-grace is over"};
  return {Action::kRemove};
}

}  // namespace flexlocal::provisioner
