#include "provisioner/accounting/room.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

Error not_here(const Promise& wanted, std::string_view why) {
  return Error(ErrorCode::kNotFound, concat("pool \"", wanted.pool, "\" ", why));
}

Error without_backend(const Promise& wanted) {
  const std::string_view key = wanted.backend == engine::Backend::kLvm ? "volume-group"
                               : wanted.backend == engine::Backend::kThin
                                   ? "thin-pool"
                                   : "quota-path or quota-size";
  return not_here(wanted, concat("has no ", key, " in this node's node.conf, so that it has no ",
                                 engine::to_string(wanted.backend), " volumes"));
}

}  // namespace

bool Demand::has_layout() const {
  return backend == engine::Backend::kLvm && pool->layout.kind != engine::Layout::Kind::kLinear;
}

Demand demand_of(const Promise& promise, const engine::Pool& pool, Bytes unit, Bytes held) {
  const auto cost = [&](Bytes size) { return engine::cost_in(promise.backend, pool, size, unit); };
  const Bytes more = held.count() == 0 ? cost(promise.size) : cost(promise.size) - cost(held);
  return {promise.backend, &pool, promise.size - held, more,
          Bytes(more.count() / engine::disks_needed(pool.layout))};
}

// Each must find its disks when all the others were made before it.
bool finds_disks(const Demand& demand, const engine::Space& space, Bytes on_each_disk) {
  if (!demand.has_layout()) return true;
  engine::Space left = space;
  for (Bytes& disk : left.disks) disk = disk - (on_each_disk - demand.most_on_one_disk);
  return engine::fits_disks(demand.backend, *demand.pool, left, demand.size);
}

Result<PoolPlace> find_place(const Promise& wanted, const engine::NodeConfig& config) {
  const auto found = config.pools.find(wanted.pool);
  if (found == config.pools.end())
    return Error(ErrorCode::kNotFound, engine::find_pool(config, wanted.pool).error().message());
  PoolPlace place{found->second, engine::space_id(wanted.backend, wanted.pool, found->second)};
  if (place.space.empty()) return without_backend(wanted);
  return place;
}

Bytes largest_that_fits(Bytes most, Bytes unit, const std::function<bool(Bytes size)>& fits) {
  const std::uint64_t step = std::max<std::uint64_t>(unit.count(), 1);
  std::uint64_t good = 0;
  std::uint64_t bad = most.count() / step + 1;
  while (bad - good > 1) {
    const std::uint64_t middle = good + (bad - good) / 2;
    (fits(Bytes(middle * step)) ? good : bad) = middle;
  }
  return Bytes(good * step);
}

Result<Bytes> size_that_fits(const Promise& wanted, const PoolRoom& room) {
  const engine::Layout& layout = room.pool.layout;
  const Bytes size = engine::size_in(wanted.backend, room.pool, wanted.size, room.unit);
  const Bytes cost = engine::cost_in(wanted.backend, room.pool, wanted.size, room.unit);
  const bool enough = size <= kMostBytes && cost <= room.free;
  if (enough && room.disks_suffice) return size;
  std::string why =
      concat("pool \"", wanted.pool, "\" has ", to_string(room.free), " free for backend ",
             engine::to_string(wanted.backend), ", ", to_string(size), " asked");
  if (cost > size)
    why += concat(", which takes ", to_string(cost), " in layout ", engine::to_string(layout));
  if (enough)
    why += concat(", and not as layout ", engine::to_string(layout), " needs it, on ",
                  engine::disks_needed(layout), " different disks");
  return Error(ErrorCode::kNoSpace, why);
}

Error not_seen(const Promise& wanted, const engine::Pool& pool) {
  switch (wanted.backend) {
    case engine::Backend::kLvm:
      return not_here(
          wanted, concat("is volume group \"", pool.volume_group, "\", which is not on this node"));
    case engine::Backend::kThin:
      return not_here(wanted, concat("is thin pool \"", pool.volume_group, '/', pool.thin_pool,
                                     "\", which is not to be seen on this node"));
    case engine::Backend::kQuota:
      break;
  }
  return not_here(wanted, "has no file system with project quotas to be seen on this node");
}

Promise promise_of(const engine::VolumeSpec& volume) {
  return {volume.name.text(), volume.backend, volume.pool, volume.size};
}

}  // namespace flexlocal::provisioner
