#include "provisioner/controller/orders/order_worker.h"

namespace flexlocal::provisioner {

Task<Requeue> OrderWorker::work(const std::string& key) {
  const auto known = view_.claims.get(key);
  if (known == nullptr) {
    assigner_.forget(key);
    report_.forget(key);
    co_return std::nullopt;
  }
  const Claim claim = *known;  // the store may change while we wait
  const OrderPlan planned = planner_.plan(claim);
  auto carried = co_await carry_out(claim, planned);
  co_return carried;
}

Task<Requeue> OrderWorker::carry_out(const Claim& claim, const OrderPlan& plan) {
  Status done;
  switch (plan.action) {
    case OrderAction::kNone:
      assigner_.report_no_room(claim);
      break;
    case OrderAction::kWait: {
      const auto asked =
          plan.copy == nullptr ? std::nullopt : view_.copies.unanswered_for(*plan.copy);
      if (asked && *asked < kOrderTimeout) co_return kOrderTimeout - *asked;
      break;
    }
    case OrderAction::kRefuse:
      report_.report_failed(claim, plan.why);
      done = Error(ErrorCode::kInvalid, plan.why);
      break;
    case OrderAction::kUnassign:
      done = co_await assigner_.refuse(claim, claim.selected_node, plan.why);
      break;
    case OrderAction::kGiveOrder: {
      const Order order = *plan.order;
      auto ordered = co_await orderer_.order(claim, order);
      co_return ordered;
    }
    case OrderAction::kWithdraw: {
      const VolumeCopy copy = *plan.copy;
      done = co_await binder_.withdraw(claim, copy, plan.why);
      break;
    }
    case OrderAction::kBind: {
      const VolumeCopy copy = *plan.copy;
      auto bound = co_await binder_.bind(claim, copy);
      co_return bound;
    }
    case OrderAction::kReport:
      report_.record(claim, kube::EventType::kWarning, plan.reason, plan.why);
      break;
  }
  if (!done) co_return done.error();
  co_return std::nullopt;
}

}  // namespace flexlocal::provisioner
