// Plans what is to be done for a claim that has no PersistentVolume: by claims/order_plan, of what
// is known now.
#pragma once

#include "provisioner/controller/claims/immediate_plan.h"
#include "provisioner/controller/claims/order_plan.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/roll.h"
#include "provisioner/controller/view/unmatched_volumes.h"

namespace flexlocal::provisioner {

class OrderPlanner {
 public:
  // To be made before the volumes are followed. `immediate`: who chooses the node of a claim that
  // no scheduler chooses one for.
  OrderPlanner(const ClusterView& view, const OrderDesk& desk, Roll& roll,
               ImmediateBinding immediate)
      : view_(view), desk_(desk), roll_(roll), immediate_(immediate), unmatched_(view.volumes) {}

  OrderPlan plan(const Claim& claim) const;

 private:
  bool has_volume(const Claim& claim) const;
  bool is_immediate(const Claim& claim) const;

  const ClusterView& view_;
  const OrderDesk& desk_;
  Roll& roll_;
  ImmediateBinding immediate_;
  UnmatchedVolumes unmatched_;
};

}  // namespace flexlocal::provisioner
