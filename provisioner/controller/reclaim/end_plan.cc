#include "provisioner/controller/reclaim/end_plan.h"

namespace flexlocal::provisioner {
namespace {

// Its state is what is desired of it, by its node's answer to this very order.
bool has_come_to(const VolumeCopy& copy, DesiredState desired) {
  const bool answered = copy.status.observed_generation >= copy.generation;
  switch (desired) {
    case DesiredState::kRemoved:
      return answered && copy.status.state == CopyState::kRemoved;
    case DesiredState::kRetained:
      return answered && copy.status.state == CopyState::kRetained;
    case DesiredState::kServing:
      return true;  // what it serves from is the agent's to say, and nobody waits for it here
  }
  return false;
}

EndPlan bring_to(DesiredState desired, const VolumeCopy* copy, EndAction then) {
  if (copy == nullptr) return {EndAction::kGiveOrder, desired};
  // What this version does not understand is not written over.
  if (!copy->order) return {EndAction::kWait, desired};
  if (copy->order->desired != desired) return {EndAction::kGiveOrder, desired};
  return {has_come_to(*copy, desired) ? then : EndAction::kWait, desired};
}

}  // namespace

EndPlan plan_end(const Volume& volume, const VolumeCopy* copy) {
  switch (plan_reclaim(volume, volume.node)) {
    case ReclaimPlan::kRemove:
      // First the object, then the data: what is half removed must not be bound again.
      if (!volume.deleting) return {EndAction::kDelete, DesiredState::kRemoved};
      return bring_to(DesiredState::kRemoved, copy, EndAction::kLetGo);
    case ReclaimPlan::kRetain:
      return bring_to(DesiredState::kRetained, copy, EndAction::kLetGo);
    case ReclaimPlan::kLetGo:
      return {EndAction::kLetGo};
    case ReclaimPlan::kKeepDeleting: {
      EndPlan plan = bring_to(DesiredState::kServing, copy, EndAction::kNone);
      plan.keeps_deleting = true;
      return plan;
    }
    case ReclaimPlan::kLeaveAlone:
      break;
  }
  const bool lives =
      is_ours(volume) && !volume.deleting && volume.phase != "Released" && volume.phase != "Failed";
  if (lives) return bring_to(DesiredState::kServing, copy, EndAction::kNone);
  return {};
}

}  // namespace flexlocal::provisioner
