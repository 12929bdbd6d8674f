// Carries out the plan for a bound claim whose node cannot make the volume that it promised: the
// volume gets another node, under the same claim.
#pragma once

#include <optional>
#include <string>

#include "provisioner/controller/claims/replacement_plan.h"
#include "provisioner/controller/node_chooser.h"
#include "provisioner/controller/order_desk.h"
#include "provisioner/controller/roll.h"
#include "provisioner/controller/unordered_copies.h"
#include "provisioner/controller/volume_binder.h"
#include "provisioner/work/news_filter.h"

namespace flexlocal::provisioner {

class ReplacementWorker {
 public:
  using Again = Result<std::optional<std::chrono::nanoseconds>>;

  ReplacementWorker(ClusterParts& parts, OrderDesk& desk, CopyIndex& index, NodeChooser& chooser,
                    Roll& roll)
      : parts_(parts),
        desk_(desk),
        index_(index),
        chooser_(chooser),
        roll_(roll),
        binder_(parts, desk, index) {}

  // Whether the claim is one of these, so that nothing else is done for it.
  bool concerns(const Claim& claim) const;
  // One pass over such a claim. Returns after which time it is to be looked at again whatever
  // happens; nullopt: not before something changes.
  Task<Again> work(const Claim& claim);
  // There is no such claim any more.
  void forget(const std::string& claim) { news_.forget(claim); }

 private:
  ReplacementPlan plan(const Claim& claim) const;
  Task<Again> carry_out(const Claim& claim, const ReplacementPlan& plan);
  Task<Status> give_up(const Claim& claim, const VolumeCopy& copy, const std::string& why);
  Task<Again> give_order(const Claim& claim, const VolumeCopy& given_up);
  Result<CopyOrder> order_like(const CopyOrder& given_up, const Claim& claim,
                               const Node& node) const;
  Task<Status> withdraw(const Claim& claim, const VolumeCopy& copy, const std::string& why);
  Task<Status> replace(const Claim& claim, const VolumeCopy& copy);
  Task<Status> end_volume(const Volume& volume);
  Task<Status> touch(const Claim& claim);
  Task<void> record_replaced(const Claim& claim, const std::string& from, const std::string& to);
  void tell(const Claim& claim, std::string_view reason, const std::string& message);

  ClusterParts& parts_;
  OrderDesk& desk_;
  CopyIndex& index_;
  NodeChooser& chooser_;
  Roll& roll_;
  VolumeBinder binder_;
  NewsFilter news_;  // by claim
};

}  // namespace flexlocal::provisioner
