// Carries out the plan for a claim that has no PersistentVolume: orders a copy, waits for its
// node's answer, makes the PersistentVolume or hands the claim back.
#pragma once

#include <string>

#include "provisioner/controller/orders/claim_binder.h"
#include "provisioner/controller/orders/copy_orderer.h"
#include "provisioner/controller/orders/node_assigner.h"
#include "provisioner/controller/orders/order_planner.h"
#include "provisioner/controller/orders/provisioning_report.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class OrderWorker {
 public:
  OrderWorker(const ClusterView& view, const OrderPlanner& planner, CopyOrderer& orderer,
              ClaimBinder& binder, NodeAssigner& assigner, ProvisioningReport& report)
      : view_(view),
        planner_(planner),
        orderer_(orderer),
        binder_(binder),
        assigner_(assigner),
        report_(report) {}

  // One pass over the claim "namespace/name". Returns after which time it is to be looked at again
  // whatever happens; nullopt: not before something changes.
  Task<Requeue> work(const std::string& key);

 private:
  Task<Requeue> carry_out(const Claim& claim, const OrderPlan& plan);

  const ClusterView& view_;
  const OrderPlanner& planner_;
  CopyOrderer& orderer_;
  ClaimBinder& binder_;
  NodeAssigner& assigner_;
  ProvisioningReport& report_;
};

}  // namespace flexlocal::provisioner
