// Carries out the plan for a bound claim whose node cannot make the volume that it promised: the
// volume gets another node, under the same claim.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "provisioner/controller/claims/replacement_plan.h"
#include "provisioner/controller/cluster_work.h"
#include "provisioner/controller/event_reporter.h"
#include "provisioner/controller/node_chooser.h"
#include "provisioner/controller/order_desk.h"
#include "provisioner/controller/roll.h"
#include "provisioner/controller/volume_binder.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class ReplacementWorker {
 public:
  ReplacementWorker(kube::ApiClient& api, ClusterView& view, OrderDesk& desk, NodeChooser& chooser,
                    Roll& roll, VolumeBinder& binder, EventReporter events, Log& log,
                    ClusterWork& work)
      : api_(api),
        view_(view),
        desk_(desk),
        chooser_(chooser),
        roll_(roll),
        binder_(binder),
        events_(std::move(events)),
        log_(log),
        work_(work) {}

  // Whether the claim is one of these, so that nothing else is done for it.
  bool concerns(const Claim& claim) const;
  // One pass over such a claim. Returns after which time it is to be looked at again whatever
  // happens; nullopt: not before something changes.
  Task<Requeue> work(const Claim& claim);
  // There is no such claim any more.
  void forget(const std::string& claim) { events_.forget(claim); }

 private:
  ReplacementPlan plan(const Claim& claim) const;
  Task<Requeue> carry_out(const Claim& claim, const ReplacementPlan& plan);
  Task<Status> give_up(const Claim& claim, const VolumeCopy& copy, const std::string& why);
  Task<Requeue> give_order(const Claim& claim, const VolumeCopy& given_up);
  Result<CopyOrder> order_like(const CopyOrder& given_up, const Claim& claim,
                               const Node& node) const;
  Task<Status> withdraw(const Claim& claim, const VolumeCopy& copy, const std::string& why);
  Task<Status> replace(const Claim& claim, const VolumeCopy& copy);
  Task<Status> end_volume(const Volume& volume);
  Task<Status> touch(const Claim& claim);
  Task<void> record_replaced(const Claim& claim, const std::string& from, const std::string& to);
  void report(const Claim& claim, std::string_view reason, const std::string& message);

  kube::ApiClient& api_;
  ClusterView& view_;
  OrderDesk& desk_;
  NodeChooser& chooser_;
  Roll& roll_;
  VolumeBinder& binder_;
  EventReporter events_;
  Log& log_;
  ClusterWork& work_;
};

}  // namespace flexlocal::provisioner
