#include "provisioner/controller/claims/order_plan.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

OrderPlan withdraw(const KnownCopy& copy, std::string why) {
  return {.action = OrderAction::kWithdraw, .why = std::move(why), .copy = copy};
}

OrderPlan report(const KnownCopy& copy, std::string_view reason, std::string why) {
  return {.action = OrderAction::kReport, .why = std::move(why), .copy = copy, .reason = reason};
}

std::string patch_command(const VolumeCopy& copy, std::string_view desired) {
  return concat("kubectl patch volumecopy ", copy.name,
                R"( --type merge -p '{"spec":{"desiredState":")", desired, R"("}}')");
}

// It may be anything: a person, or a newer version, has to look.
OrderPlan report_unknown(const KnownCopy& copy) {
  return report(copy, "NotUnderstood", words_of_unknown(*copy));
}

// Nothing empty is made beside it before a person has chosen.
OrderPlan report_retained(const KnownCopy& copy) {
  return report(
      copy, "VolumeRetained",
      concat("node ", copy->order->node,
             " has a volume of this claim, which is retained, and no other is made beside "
             "it. To use it: ",
             patch_command(*copy, "Serving"),
             ". To give it up with its data: ", patch_command(*copy, "Removed")));
}

// It was withdrawn, and a pod may have had it nevertheless.
OrderPlan report_kept(const KnownCopy& copy) {
  if (copy->status.state == CopyState::kRetained) return report_retained(copy);
  return report(copy, "VolumeLost",
                concat("a pod may have had the volume of this claim on node ", copy->order->node,
                       ", which does not have it now: ", reason_of(*copy),
                       ". To begin anew without its data: ", patch_command(*copy, "Removed")));
}

// Since the backup it may have served, and its node does not follow an order of then.
KnownCopy open_withdrawal_of(const std::vector<KnownCopy>& copies) {
  return first_of(copies, [](const VolumeCopy& copy) {
    return is_withdrawn(copy) && copy.status.promised && !is_gone_unused(copy);
  });
}

OrderPlan report_open(const KnownCopy& copy) {
  return report(copy, "WaitingForNodes",
                concat("node ", copy->order->node,
                       " has not said whether a pod has had the volume of this claim there "
                       "(VolumeCopy ",
                       copy->name,
                       "), for the API server may have been put back to an earlier state. To give "
                       "that up with its data: ",
                       patch_command(*copy, "Removed")));
}

OrderPlan report_hold(const KnownCopy& copy) {
  const std::string node = copy->order ? copy->order->node : copy->agent;
  return report(copy, "VolumeRetained",
                concat("node ", node,
                       " has the volume of an earlier claim of this name (VolumeCopy ", copy->name,
                       "), and no empty one is made in its place. To use its data, make its "
                       "PersistentVolume again. To give it up with its data: ",
                       patch_command(*copy, "Removed"),
                       ". To leave it there, and begin anew: kubectl "
                       "annotate volumecopy ",
                       copy->name, ' ', kHoldsAnnotation, '-'));
}

// A pod may have written to it, whatever is known of it now.
bool may_hold_data(const ClaimSituation& now, const VolumeCopy& copy) {
  // Who refused it promises it no more.
  const bool may_be_promised =
      copy.order->term < now.term && copy.status.state != CopyState::kRefused;
  return is_found(copy) || (now.in_doubt && (copy.status.promised || may_be_promised));
}

KnownCopy superfluous_of(const ClaimSituation& now, const KnownCopy& serving) {
  return first_of(now.copies, [&](const VolumeCopy& copy) {
    return &copy != serving.get() && is_to_serve(copy) && !may_hold_data(now, copy);
  });
}

OrderPlan plan_serving(const ClaimSituation& now, const KnownCopy& known) {
  const VolumeCopy& copy = *known;
  const CopyOrder& order = *copy.order;
  if (const KnownCopy other = superfluous_of(now, known)) return withdraw(other, {});
  // The scheduler thought again. No pod has it, since there is no PersistentVolume.
  const bool elsewhere = !now.node.empty() && now.node != order.node;
  if (elsewhere && !may_hold_data(now, copy)) return withdraw(known, {});
  switch (copy.status.state) {
    case CopyState::kPromised:
    case CopyState::kReady:
      return {.action = OrderAction::kBind, .copy = known};
    case CopyState::kRefused: {
      std::string why = concat("node ", order.node, " cannot have the volume: ", reason_of(copy));
      return may_hold_data(now, copy) ? report(known, "VolumeLost", std::move(why))
                                      : withdraw(known, std::move(why));
    }
    case CopyState::kLost:
      return report(known, "VolumeLost",
                    concat("node ", order.node,
                           " promised the volume and does not have it: ", reason_of(copy)));
    case CopyState::kUnsaid:
      break;
    case CopyState::kRetained:
    case CopyState::kRemoving:
    case CopyState::kRemoved:
    case CopyState::kUnknown:  // plan_order() tells of it
      return {.action = OrderAction::kWait, .copy = known};
  }
  if (!now.unanswered_for || *now.unanswered_for < kOrderTimeout || is_found(copy))
    return {.action = OrderAction::kWait, .copy = known};
  if (may_hold_data(now, copy))
    return report(
        known, "WaitingForNodes",
        concat(words_of_silence(copy),
               "; it may have the volume, for the API server may have been put back to an "
               "earlier state"));
  return withdraw(known, words_of_silence(copy));
}

// Data of this very claim, which a person wanted to be kept.
KnownCopy retained_of(const std::vector<KnownCopy>& copies) {
  return first_of(copies, [](const VolumeCopy& copy) {
    return copy.order && copy.order->desired == DesiredState::kRetained;
  });
}

// One that was withdrawn there has to be gone first: the node cannot have two of one volume.
bool is_being_withdrawn(const ClaimSituation& now) {
  return std::any_of(now.copies.begin(), now.copies.end(), [&](const KnownCopy& copy) {
    return copy->order && copy->order->node == now.node &&
           copy->status.state != CopyState::kRemoved;
  });
}

}  // namespace

OrderPlan plan_order(const ClaimSituation& now) {
  const Claim& claim = now.claim;
  if (claim.deleting || !claim.volume_name.empty() || now.volume_exists) return {};
  const KnownCopy unknown = first_of(now.copies, [](const VolumeCopy& copy) {
    const bool is_withdrawn = copy.order && copy.order->desired != DesiredState::kServing;
    return !is_understood(copy) && !is_withdrawn;
  });
  if (unknown != nullptr) return report_unknown(unknown);
  if (const KnownCopy kept = first_of(now.copies, is_kept)) return report_kept(kept);
  if (const KnownCopy open = now.in_doubt ? open_withdrawal_of(now.copies) : nullptr)
    return report_open(open);
  if (const KnownCopy serving = serving_of(now.copies)) return plan_serving(now, serving);
  if (const KnownCopy retained = retained_of(now.copies)) return report_retained(retained);
  if (now.holding != nullptr) return report_hold(now.holding);
  // Whether anybody chose it is looked at here; that it was this node's is no question any more.
  ClaimPlan plan = plan_claim(claim, now.storage_class, false, claim.selected_node);
  if (const auto* const refusal = std::get_if<Refuse>(&plan))
    return {.action = OrderAction::kRefuse, .why = refusal->why};
  auto* const order = std::get_if<Order>(&plan);
  if (order == nullptr || now.node.empty()) return {};
  if (is_being_withdrawn(now))
    return {.action = OrderAction::kUnassign,
            .why = concat("node ", now.node, " has not removed an earlier copy of the volume yet")};
  return {.action = OrderAction::kGiveOrder, .order = std::move(*order)};
}

}  // namespace flexlocal::provisioner
