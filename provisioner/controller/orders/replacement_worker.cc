#include "provisioner/controller/orders/replacement_worker.h"

#include "provisioner/controller/claims/serving_copy.h"

namespace flexlocal::provisioner {
namespace {

// Of what waits for nodes, or for a person.
constexpr auto kRequeueAfter = std::chrono::seconds(10);

}  // namespace

// Where each node's daemon gives its own orders, nobody could give one elsewhere: agents give
// nothing up there.
bool ReplacementWorker::concerns(const Claim& claim) const {
  return view_.scope == Scope::kAllNodes && !claim.volume_name.empty() &&
         plan(claim).action != ReplacementAction::kNone;
}

ReplacementPlan ReplacementWorker::plan(const Claim& claim) const {
  const auto volume = view_.volumes.get(claim.volume_name);
  ReplacementSituation now{.claim = claim,
                           .volume = volume.get(),
                           .copies = view_.copies.of_volume(claim.volume_name),
                           .in_doubt = roll_.leaves_doubt()};
  now.unanswered_for = view_.copies.unanswered_for(now.copies);
  return plan_replacement(now);
}

Task<Requeue> ReplacementWorker::work(const Claim& claim) {
  const ReplacementPlan planned = plan(claim);
  auto carried = co_await carry_out(claim, planned);
  co_return carried;
}

Task<Requeue> ReplacementWorker::carry_out(const Claim& claim, const ReplacementPlan& plan) {
  Status done;
  switch (plan.action) {
    case ReplacementAction::kNone:
      break;
    case ReplacementAction::kWait: {
      const auto asked = view_.copies.unanswered_for(*plan.copy);
      co_return asked&&* asked < kOrderTimeout ? kOrderTimeout - *asked
                                               : std::chrono::nanoseconds(kRequeueAfter);
    }
    case ReplacementAction::kGiveUp: {
      const VolumeCopy copy = *plan.copy;
      done = co_await orderer_.give_up(claim, copy, plan.why);
      break;
    }
    case ReplacementAction::kGiveOrder: {
      const VolumeCopy copy = *plan.copy;
      auto ordered = co_await orderer_.order(claim, copy);
      co_return ordered;
    }
    case ReplacementAction::kWithdraw: {
      const VolumeCopy copy = *plan.copy;
      done = co_await orderer_.withdraw(claim, copy, plan.why);
      break;
    }
    case ReplacementAction::kReplace: {
      const VolumeCopy copy = *plan.copy;
      const std::string cut = desk_.cut_of(copy.name);
      if (cut.empty())
        done = co_await replacer_.replace(claim, copy);
      else
        done = co_await orderer_.withdraw(claim, copy, cut);
      break;
    }
    case ReplacementAction::kReport:
      report_.report(claim, "VolumeLost", plan.why);
      co_return kRequeueAfter;
  }
  if (!done) co_return done.error();
  co_return std::nullopt;
}

}  // namespace flexlocal::provisioner
