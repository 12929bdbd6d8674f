// Reconciles claims where orders are given: makes the volumes of those that wait, and lets those
// that are bound grow, or have another node.
#pragma once

#include <string>

#include "provisioner/controller/orders/growth_orderer.h"
#include "provisioner/controller/orders/order_worker.h"
#include "provisioner/controller/orders/replacement_worker.h"
#include "provisioner/controller/publish/immediate_ranks.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

class ClaimReconciler {
 public:
  // `ranks`: nullptr: claims with volumeBindingMode Immediate are not ranked here.
  ClaimReconciler(const ClusterView& view, OrderWorker& orders, GrowthOrderer& growths,
                  ReplacementWorker& replacements, ImmediateRanks* ranks, kube::WorkQueue& queue)
      : view_(view),
        orders_(orders),
        growths_(growths),
        replacements_(replacements),
        ranks_(ranks),
        queue_(queue) {}

  // One pass over the claim "namespace/name".
  Task<Status> work(const std::string& key);
  // Whether a claim without a volume is ours to look after.
  bool concerns(const Claim& claim) const;
  // At each change of the claim: whether it is worth a pass.
  bool notice(const std::string& key);
  // Puts it into the queue if there is such a claim.
  void enqueue(const std::string& namespace_name, const std::string& name);

 private:
  Task<Requeue> work_on_bound(const Claim& claim);

  const ClusterView& view_;
  OrderWorker& orders_;
  GrowthOrderer& growths_;
  ReplacementWorker& replacements_;
  ImmediateRanks* ranks_;
  kube::WorkQueue& queue_;
};

}  // namespace flexlocal::provisioner
