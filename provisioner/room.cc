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

// Whose volumes lie in a space: found out once, for a node has few pools and may have promised
// thousands of volumes.
class PoolsOfSpace {
 public:
  PoolsOfSpace(const engine::Space& space, const engine::NodeConfig& config) {
    using engine::Backend;
    for (const auto& [name, pool] : config.pools)
      for (const Backend backend : {Backend::kLvm, Backend::kThin, Backend::kQuota})
        if (engine::space_id(backend, name, pool) == space.id)
          members_.push_back({backend, name, pool});
  }

  // nullptr: the promise is none of this space.
  const engine::Pool* find(const Promise& promise) const {
    for (const Member& member : members_)
      if (member.backend == promise.backend && member.name == promise.pool) return &member.pool;
    return nullptr;
  }

 private:
  struct Member {
    engine::Backend backend;
    const std::string& name;
    const engine::Pool& pool;
  };
  std::vector<Member> members_;
};

// A promise of the space, and the pool that it is made in.
struct Entry {
  const Promise* promise;
  const engine::Pool* pool;
};

bool is_named_before(const Entry& a, const Entry& b) { return a.promise->name < b.promise->name; }

// Those of the space, by name. Nearly all may come in that order already, and be thousands where
// few are new: so only the rest is sorted.
std::vector<Entry> entries_in(const engine::Space& space, const engine::NodeConfig& config,
                              const std::vector<const Promise*>& promises) {
  const PoolsOfSpace pools(space, config);
  std::vector<Entry> entries;
  entries.reserve(promises.size());
  for (const Promise* const promise : promises)
    if (const engine::Pool* const pool = pools.find(*promise)) entries.push_back({promise, pool});
  const auto middle = std::is_sorted_until(entries.begin(), entries.end(), is_named_before);
  std::sort(middle, entries.end(), is_named_before);
  std::inplace_merge(entries.begin(), middle, entries.end(), is_named_before);
  return entries;
}

// What is promised of the space and not taken from it yet.
std::vector<Demand> demands_on(const engine::Space& space, const engine::NodeConfig& config,
                               const std::map<std::string_view, Bytes>& held,
                               const std::vector<const Promise*>& promises,
                               const std::string& except) {
  const std::vector<Entry> entries = entries_in(space, config, promises);
  std::vector<Demand> demands;
  demands.reserve(entries.size() + 1);
  for (auto at = entries.begin(); at != entries.end();) {
    Entry largest = *at;
    while (++at != entries.end() && at->promise->name == largest.promise->name)
      if (largest.promise->size < at->promise->size) largest = *at;
    const std::string& name = largest.promise->name;
    if (name == except) continue;
    const Demand demand = demand_of(*largest.promise, *largest.pool, space, held_of(held, name));
    if (demand.cost.count() != 0) demands.push_back(demand);
  }
  return demands;
}

// Each of them must find its disks when all the others were made before it.
bool all_find_disks(const engine::Space& space, const std::vector<Demand>& demands) {
  Bytes on_each_disk;
  for (const Demand& demand : demands) on_each_disk += demand.most_on_one_disk;
  engine::Space left = space;
  return std::all_of(demands.begin(), demands.end(), [&](const Demand& demand) {
    for (std::size_t i = 0; i < space.disks.size(); ++i)
      left.disks[i] = space.disks[i] - (on_each_disk - demand.most_on_one_disk);
    return engine::fits_disks(demand.backend, demand.pool, left, demand.size);
  });
}

}  // namespace

Result<PoolRoom> room_for(const Promise& wanted, const engine::NodeConfig& config,
                          const engine::Inventory& inventory,
                          const std::vector<const Promise*>& promises) {
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
