#include "provisioner/controller/ends/orphan_removal.h"

namespace flexlocal::provisioner {

Task<Status> OrphanRemoval::remove(const Orphan& orphan) {
  const CopyOrder& order = orphan.order;
  const std::string name = copy_name(order);
  if (owners_.claim_of(order) != nullptr || owners_.has_any_volume(order) || is_in_doubt()) {
    ages_.found_none(name);
    co_return Status();
  }
  auto ordered = co_await desk_.order(*orphan.object, DesiredState::kRemoved);
  if (!ordered) co_return ordered;
  removing_.insert(name);
  report_.report_removing(order);
  co_return Status();
}

bool OrphanRemoval::report(const VolumeCopy& copy) {
  if (!copy.order || !removing_.contains(copy.name)) return false;
  const CopyOrder& order = *copy.order;
  if (order.desired != DesiredState::kRemoved) return true;
  const bool answered = is_answered(copy);
  if (answered && copy.status.state == CopyState::kRemoved) {
    report_.report_removed(order);
    return true;
  }
  std::string why;
  if (!answered && !ages_.rests(copy.name)) why = "its node has not answered";
  for (const CopyCondition& condition : copy.status.conditions)
    if (answered && !condition.holds && !condition.message.empty()) why = condition.message;
  if (!why.empty()) report_.report_stuck(order, why);
  return false;
}

void OrphanRemoval::forget_unless(const std::function<bool(const std::string& name)>& is_there) {
  std::erase_if(removing_, [&](const std::string& name) { return !is_there(name); });
}

}  // namespace flexlocal::provisioner
