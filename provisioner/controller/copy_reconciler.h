// Reconciles VolumeCopies: what a node answered may be what its claim, or its PersistentVolume,
// waits for; and the orders that nobody needs any more end.
#pragma once

#include <string>

#include "provisioner/controller/claim_reconciler.h"
#include "provisioner/controller/ends/copy_collector.h"
#include "provisioner/controller/orders/term.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/restless.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

class CopyReconciler {
 public:
  CopyReconciler(const ClusterView& view, const Term& term, ClaimReconciler& claims,
                 CopyCollector& collector, kube::WorkQueue& queue)
      : view_(view), term_(term), claims_(claims), collector_(collector), queue_(queue) {}

  // From now on what changes is put into the queue, once the term has begun. Before anything is
  // taken in; it is to be kept as long as the lists are.
  void watch();
  // One pass over the VolumeCopy of that name.
  Task<Status> work(const std::string& name);
  // Puts into the queue what time alone changes; all are looked at by gather_restless() for which
  // those are.
  void scan();
  void gather_restless();

 private:
  void enqueue_claim_of(const VolumeCopy& copy);
  bool is_ours(const VolumeCopy& copy) const;

  const ClusterView& view_;
  const Term& term_;
  ClaimReconciler& claims_;
  CopyCollector& collector_;
  kube::WorkQueue& queue_;
  Restless restless_;
};

}  // namespace flexlocal::provisioner
