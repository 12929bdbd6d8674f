// Orders a new copy for a claim, as was decided, of the node that is to have it.
#pragma once

#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/controller/orders/node_assigner.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/orders/order_drafter.h"
#include "provisioner/controller/orders/prior_copies.h"
#include "provisioner/controller/orders/provisioning_report.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class CopyOrderer {
 public:
  CopyOrderer(PriorCopies& prior, NodeAssigner& assigner, const OrderDrafter& drafter,
              OrderDesk& desk, ProvisioningReport& report)
      : prior_(prior), assigner_(assigner), drafter_(drafter), desk_(desk), report_(report) {}

  // Returns after which time the claim is to be looked at again; nullopt: not before something
  // changes. What nodes have of the claim already is ordered in place of a new copy.
  Task<Requeue> order(const Claim& claim, const Order& decided);

 private:
  Task<Requeue> order_of_node(const Claim& claim, const Order& order, const Order& claimed);

  PriorCopies& prior_;
  NodeAssigner& assigner_;
  const OrderDrafter& drafter_;
  OrderDesk& desk_;
  ProvisioningReport& report_;
};

}  // namespace flexlocal::provisioner
