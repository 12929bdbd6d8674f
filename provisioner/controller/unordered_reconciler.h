// Reconciles copies that a node tells of and no VolumeCopy names: those that are nobody's are
// orphans.
#pragma once

#include <string>

#include "provisioner/controller/ends/orphaned_copy_worker.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/orders/term.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

class UnorderedReconciler {
 public:
  UnorderedReconciler(const ClusterView& view, const Term& term, const OrderDesk& desk,
                      OrphanedCopyWorker& orphans, kube::WorkQueue& queue)
      : view_(view), term_(term), desk_(desk), orphans_(orphans), queue_(queue) {}

  // One pass over the copy whose VolumeCopy would have that name.
  Task<Status> work(const std::string& name);
  // Puts all of them into the queue, and forgets orphans that are gone.
  void scan();

 private:
  const ClusterView& view_;
  const Term& term_;
  const OrderDesk& desk_;
  OrphanedCopyWorker& orphans_;
  kube::WorkQueue& queue_;
};

}  // namespace flexlocal::provisioner
