#include "provisioner/controller/claims/order_plan.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

bool is_to_serve(const VolumeCopy& copy) {
  return copy.order && copy.order->desired == DesiredState::kServing && !copy.deleting;
}

// Of several, what a leader before this one left half done: the one that a node promised, and of
// these the first by name, so that every leader takes the same.
const VolumeCopy* serving_of(const std::vector<const VolumeCopy*>& copies) {
  const VolumeCopy* best = nullptr;
  for (const VolumeCopy* const copy : copies) {
    if (!is_to_serve(*copy)) continue;
    if (best == nullptr || (copy->status.promised && !best->status.promised)) best = copy;
  }
  return best;
}

const VolumeCopy* superfluous_of(const std::vector<const VolumeCopy*>& copies,
                                 const VolumeCopy& serving) {
  const auto found = std::find_if(copies.begin(), copies.end(), [&](const VolumeCopy* copy) {
    return copy != &serving && is_to_serve(*copy);
  });
  return found == copies.end() ? nullptr : *found;
}

std::string reason_of(const VolumeCopy& copy) {
  for (const CopyCondition& condition : copy.status.conditions)
    if (!condition.holds && !condition.message.empty()) return condition.message;
  return "it gave no reason";
}

// Of a node that has not said within the time-out whether it can have the volume.
std::string words_of_silence(const VolumeCopy& copy) {
  const std::string& node = copy.order->node;
  if (copy.status.conditions.empty())
    return concat("the node daemon of node ", node, " has not answered for ", kOrderTimeout.count(),
                  " s");
  return concat("node ", node, " has not taken the volume for ", kOrderTimeout.count(),
                " s: ", reason_of(copy));
}

OrderPlan withdraw(const VolumeCopy& copy, std::string why) {
  return {.action = OrderAction::kWithdraw, .why = std::move(why), .copy = &copy};
}

OrderPlan plan_serving(const ClaimSituation& now, const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  if (const VolumeCopy* const other = superfluous_of(now.copies, copy)) return withdraw(*other, {});
  // The scheduler thought again. No pod has it, since there is no PersistentVolume.
  if (!now.node.empty() && now.node != order.node) return withdraw(copy, {});
  switch (copy.status.state) {
    case CopyState::kPromised:
    case CopyState::kReady:
      return {.action = OrderAction::kBind, .copy = &copy};
    case CopyState::kRefused:
      return withdraw(copy,
                      concat("node ", order.node, " cannot have the volume: ", reason_of(copy)));
    case CopyState::kLost:
      return {.action = OrderAction::kTell,
              .why = concat("node ", order.node,
                            " promised the volume and does not have it: ", reason_of(copy)),
              .copy = &copy};
    case CopyState::kUnsaid:
      break;
    case CopyState::kRetained:
    case CopyState::kRemoving:
    case CopyState::kRemoved:
    case CopyState::kUnknown:
      return {.action = OrderAction::kWait, .copy = &copy};
  }
  if (now.unanswered_for && *now.unanswered_for >= kOrderTimeout)
    return withdraw(copy, words_of_silence(copy));
  return {.action = OrderAction::kWait, .copy = &copy};
}

// Data of this very claim, which a person wanted to be kept.
bool has_retained(const std::vector<const VolumeCopy*>& copies) {
  return std::any_of(copies.begin(), copies.end(), [](const VolumeCopy* copy) {
    return copy->order && copy->order->desired == DesiredState::kRetained;
  });
}

// One that was withdrawn there has to be gone first: the node cannot have two of one volume.
bool is_being_withdrawn(const ClaimSituation& now) {
  return std::any_of(now.copies.begin(), now.copies.end(), [&](const VolumeCopy* copy) {
    return copy->order && copy->order->node == now.node &&
           copy->status.state != CopyState::kRemoved;
  });
}

}  // namespace

OrderPlan plan_order(const ClaimSituation& now) {
  const Claim& claim = now.claim;
  if (claim.deleting || !claim.volume_name.empty() || now.volume_exists) return {};
  // What is not understood may be anything: a person, or a newer version, has to look.
  if (std::any_of(now.copies.begin(), now.copies.end(),
                  [](const VolumeCopy* copy) { return !copy->order; }))
    return {.action = OrderAction::kWait};
  if (const VolumeCopy* const serving = serving_of(now.copies)) return plan_serving(now, *serving);
  // Nothing empty is made beside it before a person has chosen.
  if (has_retained(now.copies)) return {.action = OrderAction::kWait};
  // Whether anybody chose it is looked at here; that it was this node's is no question any more.
  ClaimPlan plan = plan_claim(claim, now.storage_class, false, claim.selected_node);
  if (const auto* const refusal = std::get_if<Refuse>(&plan))
    return {.action = OrderAction::kRefuse, .why = refusal->why};
  auto* const order = std::get_if<Order>(&plan);
  if (order == nullptr || now.node.empty()) return {};
  if (is_being_withdrawn(now))
    return {.action = OrderAction::kHandBack,
            .why = concat("node ", now.node, " has not removed an earlier copy of the volume yet")};
  return {.action = OrderAction::kGiveOrder, .order = std::move(*order)};
}

}  // namespace flexlocal::provisioner
