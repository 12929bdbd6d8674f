// What nodes may have of a claim already: before all have said what they have nothing new is made
// for it, nor beside what another one has; and what is found on a node is ordered as it is there.
#pragma once

#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/orders/provisioning_report.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/roll.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class PriorCopies {
 public:
  PriorCopies(const ClusterView& view, Roll& roll, OrderDesk& desk, ProvisioningReport& report)
      : view_(view), roll_(roll), desk_(desk), report_(report) {}

  struct Answer {
    bool are_none = false;  // as far as is known
    // Else after which time the claim is looked at again; nullopt: when something changes.
    RequeueAfter requeue{};
  };
  // To be asked before something new is ordered for the claim. Orders what is found instead.
  Task<Result<Answer>> look_for(const Claim& claim, const Order& decided);
  // Whether that there are none holds still; to be asked right before the order is given.
  Task<Result<bool>> are_still_none(const Claim& claim);
  // What keeps the claim from being bound to that copy: an order of an earlier leader is answered
  // by its node alone, and the volume may be on another. nullopt: nothing does.
  RequeueAfter check_beside(const Claim& claim, const VolumeCopy& copy);

 private:
  void wait_for_roll(const Claim& claim);
  RequeueAfter hold_for_another(const Claim& claim);
  bool is_others_to_order(const Claim& claim) const;
  Task<Status> adopt(const Claim& claim, const Order& decided, const UnorderedCopies::Found& found);

  const ClusterView& view_;
  Roll& roll_;
  OrderDesk& desk_;
  ProvisioningReport& report_;
};

}  // namespace flexlocal::provisioner
