#include "provisioner/room.h"

#include <algorithm>
#include <set>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// A promise with what it means in the space that is looked at.
struct Demand {
  const Promise& promise;
  const engine::Pool& pool;
  Bytes cost;
  Bytes most_on_one_disk;  // the parts of a volume lie on different disks
};

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

Demand demand_of(const Promise& promise, const engine::Pool& pool, const engine::Space& space) {
  const Bytes cost = engine::cost_in(promise.backend, pool, promise.size, space.unit);
  return {promise, pool, cost, Bytes(cost.count() / engine::disks_needed(pool.layout))};
}

// What is promised of the space and not taken from it yet.
std::vector<Demand> demands_on(const engine::Space& space, const engine::NodeConfig& config,
                               const engine::Inventory& inventory,
                               const std::vector<Promise>& promises, const std::string& except) {
  std::set<std::string_view> counted = {except};
  for (const engine::Holding& holding : inventory.holdings)
    if (holding.space == space.id) counted.insert(holding.volume);
  std::vector<Demand> demands;
  for (const Promise& promise : promises) {
    const auto pool = config.pools.find(promise.pool);
    if (pool == config.pools.end() ||
        engine::space_id(promise.backend, promise.pool, pool->second) != space.id)
      continue;
    if (counted.insert(promise.name).second)
      demands.push_back(demand_of(promise, pool->second, space));
  }
  return demands;
}

// Each of them must find its disks when all the others were made before it.
bool all_find_disks(const engine::Space& space, const std::vector<Demand>& demands) {
  Bytes on_each_disk;
  for (const Demand& demand : demands) on_each_disk += demand.most_on_one_disk;
  return std::all_of(demands.begin(), demands.end(), [&](const Demand& demand) {
    engine::Space left = space;
    for (Bytes& disk : left.disks) disk = disk - (on_each_disk - demand.most_on_one_disk);
    return engine::fits_disks(demand.promise.backend, demand.pool, left, demand.promise.size);
  });
}

}  // namespace

Result<PoolRoom> room_for(const Promise& wanted, const engine::NodeConfig& config,
                          const engine::Inventory& inventory,
                          const std::vector<Promise>& promises) {
  auto pool = engine::find_pool(config, wanted.pool);
  if (!pool) return Error(ErrorCode::kNotFound, pool.error().message());
  const std::string id = engine::space_id(wanted.backend, wanted.pool, *pool);
  if (id.empty()) return without_backend(wanted);
  const auto space = std::find_if(inventory.spaces.begin(), inventory.spaces.end(),
                                  [&](const engine::Space& seen) { return seen.id == id; });
  if (space == inventory.spaces.end()) return not_seen(wanted, *pool);
  auto demands = demands_on(*space, config, inventory, promises, wanted.name);
  PoolRoom room{*pool, space->unit, space->free};
  Bytes promised;
  for (const Demand& demand : demands) promised += demand.cost;
  room.free = space->free - promised;
  demands.push_back(demand_of(wanted, *pool, *space));
  room.disks_suffice = all_find_disks(*space, demands);
  return room;
}

}  // namespace flexlocal::provisioner
