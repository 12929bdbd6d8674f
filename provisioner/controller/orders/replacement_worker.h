// Carries out the plan for a bound claim whose node cannot make the volume that it promised: the
// volume gets another node, under the same claim.
#pragma once

#include <string>

#include "provisioner/controller/claims/replacement_plan.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/orders/replacement_orderer.h"
#include "provisioner/controller/orders/replacement_report.h"
#include "provisioner/controller/orders/volume_replacer.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/roll.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class ReplacementWorker {
 public:
  ReplacementWorker(const ClusterView& view, Roll& roll, const OrderDesk& desk,
                    ReplacementOrderer& orderer, VolumeReplacer& replacer,
                    ReplacementReport& report)
      : view_(view),
        roll_(roll),
        desk_(desk),
        orderer_(orderer),
        replacer_(replacer),
        report_(report) {}

  // Whether the claim is one of these, so that nothing else is done for it.
  bool concerns(const Claim& claim) const;
  // One pass over such a claim. Returns after which time it is to be looked at again whatever
  // happens; nullopt: not before something changes.
  Task<Requeue> work(const Claim& claim);
  // There is no such claim any more.
  void forget(const std::string& claim) { report_.forget(claim); }

 private:
  ReplacementPlan plan(const Claim& claim) const;
  Task<Requeue> carry_out(const Claim& claim, const ReplacementPlan& plan);

  const ClusterView& view_;
  Roll& roll_;
  const OrderDesk& desk_;
  ReplacementOrderer& orderer_;
  VolumeReplacer& replacer_;
  ReplacementReport& report_;
};

}  // namespace flexlocal::provisioner
