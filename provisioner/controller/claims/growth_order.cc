#include "provisioner/controller/claims/growth_order.h"

#include <algorithm>

namespace flexlocal::provisioner {
namespace {

// What is to be ordered: what is asked, and never less than what is there, which is not taken back.
// An order that is fulfilled stays, though the disks would round it up further by now.
Bytes size_to_order(Bytes ordered, Bytes asked, Bytes rounded, Bytes held) {
  const bool stays = ordered >= asked && ordered <= std::max(rounded, held);
  return stays ? ordered : std::max(rounded, held);
}

}  // namespace

GrowthOrder plan_growth_order(const Growth& growth, Bytes rounded, const VolumeCopy* copy) {
  if (copy == nullptr || !copy->order || copy->order->desired != DesiredState::kServing) return {};
  const CopyStatus& status = copy->status;
  const Bytes ordered = copy->order->volume.size;
  const Bytes wanted = size_to_order(ordered, growth.asked, rounded, status.size);
  if (ordered != wanted) return {.step = GrowthStep::kRaise, .size = wanted};
  const bool answered = is_answered(*copy);
  if (!answered || status.state != CopyState::kReady) return {};
  if (status.size >= growth.asked) {
    const CopyCondition* const pending = find_condition(status, kFileSystemResizePending);
    return {.step = GrowthStep::kGrown,
            .size = status.size,
            .as_requested = status.size == rounded,
            .awaits_mount = pending != nullptr && pending->holds};
  }
  const CopyCondition* const as_ordered = find_condition(status, kAsOrdered);
  if (as_ordered == nullptr || as_ordered->holds || as_ordered->reason != kNotGrown) return {};
  return {.step = GrowthStep::kRefused, .size = status.size, .why = as_ordered->message};
}

}  // namespace flexlocal::provisioner
