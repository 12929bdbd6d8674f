#include "provisioner/controller/claims/replacement_plan.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/serving_copy.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// That the claim has it, and nobody takes it away.
bool is_bound_to(const Claim& claim, const Volume& volume) {
  return is_ours(volume) && volume.phase == "Bound" && volume.claim_uid == claim.uid;
}

// Of a copy that was withdrawn before: a PersistentVolume that was sent before that, and came
// after.
std::string words_of_late_volume(const VolumeCopy& copy) {
  return concat("the PersistentVolume came when its copy on node ", copy.order->node,
                " was withdrawn already");
}

// Its node will never make it, by its answer to the very order as it is, and has never made it.
bool is_broken_promise(const VolumeCopy& copy) {
  return copy.order && copy.order->origin == Origin::kNew &&
         copy.order->desired == DesiredState::kServing && !copy.deleting &&
         copy.status.state == CopyState::kRefused && !copy.status.made && is_answered(copy);
}

KnownCopy given_up_of(const std::vector<KnownCopy>& copies) {
  return first_of(copies, is_given_up);
}

// Pods may have written to it, if it ever had a PersistentVolume.
KnownCopy possible_data_of(const std::vector<KnownCopy>& copies) {
  return first_of(copies, [](const VolumeCopy& copy) {
    return copy.order && was_made_or_found(copy) && !is_gone_unused(copy);
  });
}

KnownCopy superfluous_of(const std::vector<KnownCopy>& copies, const KnownCopy& serving) {
  return first_of(copies, [&](const VolumeCopy& copy) {
    return &copy != serving.get() && is_to_serve(copy) && !is_found(copy);
  });
}

ReplacementPlan report_data(const KnownCopy& copy) {
  return {ReplacementAction::kReport, copy,
          concat("VolumeCopy ", copy->name, " on node ", copy->order->node,
                 " is of the same volume and may hold data: none is made beside it")};
}

ReplacementPlan plan_giving_up(const ReplacementSituation& now, const KnownCopy& copy) {
  const bool is_late = is_gone_unused(*copy);
  if (!is_late && !is_broken_promise(*copy)) return {};
  std::string why = is_late
                        ? words_of_late_volume(*copy)
                        : concat("node ", copy->order->node,
                                 " cannot make the volume that it promised: ", reason_of(*copy));
  if (now.in_doubt)
    return {ReplacementAction::kReport, copy,
            concat(why,
                   "; it gets no other place, for the API server may have been put back to an "
                   "earlier state")};
  return {ReplacementAction::kGiveUp, copy, std::move(why)};
}

// What stands in the place of the one that was given up. Without a PersistentVolume that names it
// no pod has had it.
ReplacementPlan plan_successor(const ReplacementSituation& now, const KnownCopy& serving) {
  const VolumeCopy& copy = *serving;
  if (is_found(copy))
    return {
        ReplacementAction::kReport, serving,
        concat("node ", copy.order->node, " has an earlier copy of the volume (VolumeCopy ",
               copy.name,
               "): the volume gets no other place before a person has looked at it, and has set "
               "its spec.desiredState to Retained or Removed")};
  if (KnownCopy other = superfluous_of(now.copies, serving))
    return {ReplacementAction::kWithdraw, std::move(other), {}};
  switch (copy.status.state) {
    case CopyState::kPromised:
    case CopyState::kReady:
      return {ReplacementAction::kReplace, serving, {}};
    case CopyState::kRefused:
      return {copy.status.made ? ReplacementAction::kReport : ReplacementAction::kWithdraw, serving,
              concat("node ", copy.order->node, " cannot have the volume: ", reason_of(copy))};
    case CopyState::kUnsaid:
      if (now.unanswered_for && *now.unanswered_for >= kOrderTimeout)
        return {ReplacementAction::kWithdraw, serving, words_of_silence(copy)};
      break;
    case CopyState::kLost:
      return {ReplacementAction::kReport, serving,
              concat("node ", copy.order->node,
                     " promised the volume and does not have it: ", reason_of(copy))};
    case CopyState::kRetained:
    case CopyState::kRemoving:
    case CopyState::kRemoved:
    case CopyState::kUnknown:
      break;
  }
  return {ReplacementAction::kWait, serving, {}};
}

}  // namespace

ReplacementPlan plan_replacement(const ReplacementSituation& now) {
  if (now.claim.deleting || now.claim.volume_name != volume_of_claim(now.claim.uid)) return {};
  KnownCopy given_up;
  if (now.volume == nullptr) {
    given_up = given_up_of(now.copies);
  } else if (is_bound_to(now.claim, *now.volume)) {
    const KnownCopy named = copy_of(*now.volume, now.copies);
    if (named != nullptr && !is_given_up(*named)) return plan_giving_up(now, named);
    given_up = named;
  }
  if (given_up == nullptr) return {};
  // What is not understood may be anything: a person, or a newer version, has to look.
  const bool is_unclear =
      std::ranges::any_of(now.copies, [](const KnownCopy& copy) { return !copy->order; });
  if (now.in_doubt || is_unclear)
    return {ReplacementAction::kReport, given_up,
            concat("the volume gets no other place yet: ",
                   is_unclear ? "one of its VolumeCopies is not understood"
                              : "the API server may have been put back to an earlier state")};
  if (const KnownCopy kept = first_of(now.copies, is_kept)) return report_data(kept);
  if (const KnownCopy serving = serving_of(now.copies)) return plan_successor(now, serving);
  // Its successor may have held data by then.
  if (now.volume == nullptr)
    return {ReplacementAction::kReport, given_up,
            "the PersistentVolume is gone, and no copy of the volume is left that could serve: "
            "delete the claim and its pod"};
  if (const KnownCopy other = possible_data_of(now.copies)) return report_data(other);
  return {ReplacementAction::kGiveOrder, given_up, {}};
}

}  // namespace flexlocal::provisioner
