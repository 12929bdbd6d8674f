#include "provisioner/controller/capacity/capacity_plan.h"

#include <algorithm>

namespace flexlocal::provisioner {
namespace {

constexpr std::uint64_t kSteps = 100;

// As fit() and check_budget() have it, without their words.
struct Limits {
  const ClassParameters& parameters;
  const PoolRoom& room;
  Bytes budget;

  bool hold(Bytes size) const {
    const engine::Backend backend = parameters.backend;
    const Bytes made = engine::size_in(backend, room.pool, size, room.unit);
    return made <= budget && engine::cost_in(backend, room.pool, size, room.unit) <= room.free;
  }
};

}  // namespace

Bytes largest_volume(const ClassParameters& parameters, const NodeBudget& budget, Bytes given,
                     const RoomForSize& room) {
  const auto empty = room(Bytes(0));
  if (!empty) return {};
  const Limits limits{parameters, *empty, budget.left(parameters.disk_per_ram, given)};
  const Bytes most = std::min(limits.budget, empty->free);
  const auto within_limits = [&](Bytes size) { return limits.hold(size); };
  const auto finds_disks = [&](Bytes size) {
    const auto found = room(size);
    return found && found->disks_suffice;
  };
  const Bytes largest = largest_that_fits(most, empty->unit, within_limits);
  if (largest == Bytes(0) || finds_disks(largest)) return largest;
  return largest_that_fits(largest, empty->unit, finds_disks);
}

bool must_tell(Bytes told, Bytes now, const std::function<std::vector<Bytes>()>& waiting) {
  if (now < told) return true;
  if (now == told) return false;
  if (told == Bytes(0) || (now - told).count() >= now.count() / kSteps) return true;
  const std::vector<Bytes> sizes = waiting();
  return std::any_of(sizes.begin(), sizes.end(),
                     [&](Bytes size) { return told < size && size <= now; });
}

}  // namespace flexlocal::provisioner
