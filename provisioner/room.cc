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

std::vector<Entry> entries_in(const PoolsOfSpace& pools,
                              const std::vector<const Promise*>& promises) {
  std::vector<Entry> entries;
  entries.reserve(promises.size());
  for (const Promise* const promise : promises)
    if (const engine::Pool* const pool = pools.find(*promise)) entries.push_back({promise, pool});
  return entries;
}

// `entries`: by name. Their end when there is none of that name.
std::vector<Entry>::iterator find_entry(std::vector<Entry>& entries, std::string_view name) {
  const auto at = std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const Entry& entry, std::string_view wanted) { return entry.promise->name < wanted; });
  return at != entries.end() && at->promise->name == name ? at : entries.end();
}

// Of each volume the largest, in no order; none of the volume `except`. The many are not compared
// with each other.
std::vector<Entry> largest_of_each(const PoolsOfSpace& pools, const Promised& promised,
                                   const std::string& except) {
  std::vector<Entry> entries = entries_in(pools, promised.by_name);
  std::map<std::string_view, Entry> more;
  for (const Entry& entry : entries_in(pools, promised.more)) {
    Entry& largest = more.try_emplace(entry.promise->name, entry).first->second;
    if (largest.promise->size < entry.promise->size) largest = entry;
  }
  std::vector<Entry> added;
  for (const auto& [name, entry] : more) {
    const auto known = find_entry(entries, name);
    if (known == entries.end() && name != except) added.push_back(entry);
    if (known != entries.end() && known->promise->size < entry.promise->size) *known = entry;
  }
  if (const auto own = find_entry(entries, except); own != entries.end()) entries.erase(own);
  entries.insert(entries.end(), added.begin(), added.end());
  return entries;
}

// What is promised of the space and not taken from it yet.
std::vector<Demand> demands_on(const engine::Space& space, const engine::NodeConfig& config,
                               const std::map<std::string_view, Bytes>& held,
                               const Promised& promised, const std::string& except) {
  const PoolsOfSpace pools(space, config);
  const std::vector<Entry> entries = largest_of_each(pools, promised, except);
  std::vector<Demand> demands;
  demands.reserve(entries.size() + 1);
  for (const Entry& entry : entries) {
    const Bytes has = held_of(held, entry.promise->name);
    const Demand demand = demand_of(*entry.promise, *entry.pool, space, has);
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
                          const engine::Inventory& inventory, const Promised& promised) {
  auto pool = engine::find_pool(config, wanted.pool);
  if (!pool) return Error(ErrorCode::kNotFound, pool.error().message());
  const std::string id = engine::space_id(wanted.backend, wanted.pool, *pool);
  if (id.empty()) return without_backend(wanted);
  const auto space = std::find_if(inventory.spaces.begin(), inventory.spaces.end(),
                                  [&](const engine::Space& seen) { return seen.id == id; });
  if (space == inventory.spaces.end()) return not_seen(wanted, *pool);
  const auto held = held_in(*space, inventory);
  auto demands = demands_on(*space, config, held, promised, wanted.name);
  PoolRoom room{*pool, space->unit, space->free};
  room.held = held_of(held, wanted.name);
  Bytes demanded;
  for (const Demand& demand : demands) demanded += demand.cost;
  room.free = space->free - demanded;
  demands.push_back(demand_of(wanted, *pool, *space, room.held));
  room.disks_suffice = all_find_disks(*space, demands);
  return room;
}

}  // namespace flexlocal::provisioner
