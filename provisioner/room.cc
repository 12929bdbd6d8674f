#include "provisioner/room.h"

#include <algorithm>
#include <map>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// What is still to be taken from the space for a promise.
struct Demand {
  engine::Backend backend;
  const engine::Pool& pool;
  Bytes size;  // beyond what the volume offers already
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

Demand demand_of(const Promise& promise, const engine::Pool& pool, const engine::Space& space,
                 Bytes held) {
  const auto cost = [&](Bytes size) {
    return engine::cost_in(promise.backend, pool, size, space.unit);
  };
  const Bytes more = held.count() == 0 ? cost(promise.size) : cost(promise.size) - cost(held);
  return {promise.backend, pool, promise.size - held, more,
          Bytes(more.count() / engine::disks_needed(pool.layout))};
}

// What the space's volumes offer now.
std::map<std::string_view, Bytes> held_in(const engine::Space& space,
                                          const engine::Inventory& inventory) {
  std::map<std::string_view, Bytes> held;
  for (const engine::Holding& holding : inventory.holdings)
    if (holding.space == space.id)
      held[holding.volume] = std::max(held[holding.volume], holding.size);
  return held;
}

Bytes held_of(const std::map<std::string_view, Bytes>& held, const std::string& volume) {
  const auto found = held.find(volume);
  return found == held.end() ? Bytes(0) : found->second;
}

// What is promised of the space and not taken from it yet.
std::vector<Demand> demands_on(const engine::Space& space, const engine::NodeConfig& config,
                               const std::map<std::string_view, Bytes>& held,
                               const std::vector<Promise>& promises, const std::string& except) {
  std::map<std::string_view, const Promise*> largest;
  for (const Promise& promise : promises) {
    const auto pool = config.pools.find(promise.pool);
    if (promise.name == except || pool == config.pools.end() ||
        engine::space_id(promise.backend, promise.pool, pool->second) != space.id)
      continue;
    const Promise*& known = largest[promise.name];
    if (known == nullptr || known->size < promise.size) known = &promise;
  }
  std::vector<Demand> demands;
  for (const auto& [name, promise] : largest) {
    const Demand demand =
        demand_of(*promise, config.pools.at(promise->pool), space, held_of(held, promise->name));
    if (demand.cost.count() != 0) demands.push_back(demand);
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
    return engine::fits_disks(demand.backend, demand.pool, left, demand.size);
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
  const auto held = held_in(*space, inventory);
  auto demands = demands_on(*space, config, held, promises, wanted.name);
  PoolRoom room{*pool, space->unit, space->free};
  room.held = held_of(held, wanted.name);
  Bytes promised;
  for (const Demand& demand : demands) promised += demand.cost;
  room.free = space->free - promised;
  demands.push_back(demand_of(wanted, *pool, *space, room.held));
  room.disks_suffice = all_find_disks(*space, demands);
  return room;
}

}  // namespace flexlocal::provisioner
