#include "provisioner/controller/ends/copy_collector.h"

namespace flexlocal::provisioner {
namespace {

constexpr auto kReplacementWait = std::chrono::seconds(10);

// Whether its node has answered this very order by that nothing of the copy is there. One to retain
// it may have come when its removal was over.
bool is_removed(const VolumeCopy& copy) {
  return copy.order->desired != DesiredState::kServing &&
         copy.status.state == CopyState::kRemoved && is_answered(copy);
}

// Nobody is left who could answer, and nothing was ever made.
bool was_never_more(const VolumeCopy& copy) {
  return copy.order->origin == Origin::kNew && !copy.status.promised && !copy.status.made;
}

// Its node cannot do what was ordered.
bool is_in_trouble(const VolumeCopy& copy) {
  const CopyCondition* const as_ordered = find_condition(copy.status, kAsOrdered);
  return is_answered(copy) && as_ordered != nullptr && !as_ordered->holds;
}

}  // namespace

Task<Requeue> CopyCollector::work(const VolumeCopy& copy) {
  if (!copy.order || copy.deleting) co_return std::nullopt;
  const CopyOrder& order = *copy.order;
  const bool node_is_gone = view_.nodes.get(order.node) == nullptr;
  orphans_.report_removal(copy);
  const bool goes = is_to_go(order.desired);
  if (is_given_up(copy) || (owners_.has_volume(order) && is_gone_unused(copy))) {
    const auto stays = co_await owners_.is_being_replaced(copy);
    if (!stays) co_return stays.error();
    if (*stays) co_return kReplacementWait;
  }
  if ((is_removed(copy) && (goes || !owners_.has_volume(order))) ||
      (goes && node_is_gone && was_never_more(copy))) {
    auto buried = co_await removed_.bury(copy);
    co_return buried;
  }
  removed_.forget(copy.name);
  const bool is_left = is_kept(copy) || node_is_gone || is_in_trouble(copy);
  if (is_withdrawn(copy) && !owners_.has_volume(order) && is_left) {
    if (orphans_.rests(copy.name)) co_return std::nullopt;
    auto requeue = co_await unneeded_.report(copy);
    co_return requeue;
  }
  if (goes && !is_kept(copy)) {
    auto released = co_await nodeless_.release(copy);
    if (!released) co_return released.error();
    co_return std::nullopt;
  }
  // A retained copy is a person's to choose about; one with a PersistentVolume lives with that.
  if (order.desired == DesiredState::kRetained || owners_.has_volume(order)) {
    orphans_.forget(copy.name);
    co_return std::nullopt;
  }
  auto requeue = co_await work_on_unclaimed(copy);
  co_return requeue;
}

// As far as the lists go, no PersistentVolume has it.
Task<Requeue> CopyCollector::work_on_unclaimed(const VolumeCopy& copy) {
  if (orphans_.rests(copy.name)) co_return std::nullopt;
  if (was_made_or_found(copy)) orphans_.begin_look(copy.name);
  auto needed = co_await owners_.is_needed(copy);
  if (!needed) co_return needed.error();
  if (*needed) {
    orphans_.found_none(copy.name);
    co_return std::nullopt;
  }
  auto ended = co_await unneeded_.end(copy);
  co_return ended;
}

bool CopyCollector::rests(const VolumeCopy& copy) const {
  if (!copy.order || copy.deleting) return true;
  switch (copy.order->desired) {
    case DesiredState::kServing:
      return owners_.has_volume(*copy.order);
    case DesiredState::kRetained:
      return owners_.has_volume(*copy.order) || !is_removed(copy);
    case DesiredState::kRemoved:
    case DesiredState::kWithdrawn:
      break;
  }
  return false;
}

}  // namespace flexlocal::provisioner
