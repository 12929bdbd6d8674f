#include "provisioner/controller/reclaim/end_plan.h"

#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// Its state is what is desired of it, by its node's answer to this very order.
bool has_come_to(const VolumeCopy& copy, DesiredState desired) {
  const bool answered = is_answered(copy);
  switch (desired) {
    case DesiredState::kRemoved:
      return answered && copy.status.state == CopyState::kRemoved;
    case DesiredState::kRetained:
      return answered && copy.status.state == CopyState::kRetained;
    case DesiredState::kWithdrawn:
      return is_gone_unused(copy);
    case DesiredState::kServing:
      return true;  // what it serves from is the agent's to say, and nobody waits for it here
  }
  return false;
}

EndPlan bring_to(DesiredState desired, const VolumeCopy* copy, EndAction then) {
  if (copy == nullptr) return {EndAction::kGiveOrder, desired};
  // What this version does not understand is not written over.
  if (!copy->order) return {EndAction::kWait, desired};
  // Nor is what its node says and nobody here knows a reason to remove it.
  if (desired == DesiredState::kRemoved && !is_understood(*copy))
    return {EndAction::kWait, desired};
  if (copy->order->desired != desired) return {EndAction::kGiveOrder, desired};
  return {has_come_to(*copy, desired) ? then : EndAction::kWait, desired};
}

bool goes(const VolumeCopy* copy) {
  return copy != nullptr && copy->order && is_to_go(copy->order->desired);
}

// By its node's answer to the order as it is, whichever that is.
bool is_removed(const VolumeCopy* copy) {
  return copy != nullptr && copy->order && copy->status.state == CopyState::kRemoved &&
         is_answered(*copy);
}

// A claim had it, and may have written to it.
bool is_released(const Volume& volume) {
  return volume.phase == "Released" || volume.phase == "Failed";
}

// It came when its copy was withdrawn already, and whether a pod has had that is not known yet.
bool is_open(const VolumeCopy* copy) {
  return copy != nullptr && is_withdrawn(*copy) && !is_gone_unused(*copy) && !is_kept(*copy);
}

EndPlan plan_living(const Volume& volume, const VolumeCopy* copy) {
  // One that a pod has had serves; of another, what stands for it is ended, and the claim gets what
  // has its place.
  if (is_open(copy)) return {EndAction::kWait, DesiredState::kServing};
  // Where data may be, and no claim is named, a person has made the PersistentVolume again.
  const bool made_again =
      (copy != nullptr && is_kept(*copy)) ||
      (goes(copy) && was_made_or_found(*copy) && !is_removed(copy) && volume.claim_uid.empty());
  if (goes(copy) && volume.phase != "Bound" && !made_again)
    return {EndAction::kDelete, DesiredState::kRemoved};
  EndPlan plan = bring_to(DesiredState::kServing, copy, EndAction::kNone);
  const bool of_another_claim = copy != nullptr && copy->order && !volume.claim_uid.empty() &&
                                copy->order->claim_uid != volume.claim_uid;
  const bool of_another_policy =
      copy != nullptr && copy->order && copy->order->reclaim_policy != policy_of_order(volume);
  if (plan.action == EndAction::kNone && (of_another_claim || of_another_policy))
    plan.action = EndAction::kGiveOrder;
  return plan;
}

}  // namespace

std::string policy_of_order(const Volume& volume) {
  return volume.reclaim_policy == "Delete" ? "Delete" : "Retain";
}

bool is_to_be_replaced(const Volume& volume, const VolumeCopy* copy) {
  return copy != nullptr && volume.phase == "Bound" && is_gone_unused(*copy) &&
         volume.name == volume_of_claim(volume.claim_uid);
}

EndPlan plan_end(const Volume& volume, const VolumeCopy* copy) {
  // Another copy is to have its place: see claims/replacement_plan.h.
  if (copy != nullptr && is_given_up(*copy) && volume.phase == "Bound") return {};
  switch (plan_reclaim(volume, volume.node)) {
    case ReclaimPlan::kRemove:
      // First the object, then the data: what is half removed must not be bound again.
      if (!volume.deleting) return {EndAction::kDelete, DesiredState::kRemoved};
      if (copy != nullptr && is_gone_unused(*copy)) return {EndAction::kRelease};
      return bring_to(DesiredState::kRemoved, copy, EndAction::kRelease);
    case ReclaimPlan::kRetain:
      // A removal that has not come to its end is taken back.
      if (is_removed(copy) || (goes(copy) && !is_released(volume) && !was_made_or_found(*copy)))
        return {EndAction::kRelease};
      return bring_to(DesiredState::kRetained, copy, EndAction::kRelease);
    case ReclaimPlan::kRelease:
      return {EndAction::kRelease};
    case ReclaimPlan::kKeepDeleting: {
      EndPlan plan = bring_to(DesiredState::kServing, copy, EndAction::kNone);
      if (is_open(copy)) plan.action = EndAction::kWait;
      plan.keeps_deleting = true;
      return plan;
    }
    case ReclaimPlan::kLeaveAlone:
      break;
  }
  if (!is_ours(volume) || volume.deleting) return {};
  // Kept by its policy: nobody mounts it before a claim has it again.
  if (is_released(volume)) return bring_to(DesiredState::kRetained, copy, EndAction::kNone);
  return plan_living(volume, copy);
}

}  // namespace flexlocal::provisioner
