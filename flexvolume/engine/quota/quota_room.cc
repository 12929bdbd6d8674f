#include "flexvolume/engine/quota/quota_room.h"

#include <algorithm>

#include "flexvolume/engine/quota/shared_volume.h"

namespace flexlocal::engine {
namespace {

constexpr std::uint64_t kBytesPerInode = 16384;
constexpr std::uint64_t kFewestInodes = 4096;

Bytes scaled(Bytes size, unsigned percent) {
  __extension__ typedef unsigned __int128 Wide;
  const Wide product = Wide(size.count()) * percent / 100;
  return product > kMostBytes.count() ? kMostBytes : Bytes(static_cast<std::uint64_t>(product));
}

}  // namespace

QuotaRoom quota_room(const Capacity& capacity, const std::vector<ProjectQuota>& quotas,
                     unsigned overcommit_percent) {
  Bytes promised;
  Bytes charged;
  for (const ProjectQuota& line : quotas) {
    promised += std::max(line.limit, line.used);
    charged += line.used;
  }
  const Bytes own = (capacity.size - capacity.free) - charged;
  return {scaled(capacity.size, overcommit_percent), promised + own};
}

Bytes block_limit(Bytes size, Bytes block) { return size.rounded_up_to(block); }

std::uint64_t inode_limit(Bytes size) {
  return std::max(size.count() / kBytesPerInode, kFewestInodes);
}

Space space_to_make(const Inventory& inventory, const std::string& id, const std::string& name,
                    const Pool& pool) {
  const VolumeName own = VolumeName::of_pool(name);
  const auto begun = std::find_if(
      inventory.shared.begin(), inventory.shared.end(), [&](const LogicalVolume& volume) {
        return volume.name == own.text() && volume.group == pool.volume_group;
      });
  const auto group = std::find_if(inventory.groups.begin(), inventory.groups.end(),
                                  [&](const auto& g) { return g.name == pool.volume_group; });
  const bool fits = group != inventory.groups.end() &&
                    cost(pool.layout, pool.quota_size, group->extent) <= group->free;
  const Bytes offered = begun != inventory.shared.end() ? surely_offered(begun->size)
                        : fits                          ? surely_offered(pool.quota_size)
                                                        : Bytes();
  const QuotaRoom room = quota_room({offered, offered, {}}, {}, pool.overcommit_percent);
  return {id, room.size, room.free(), Bytes(4096), {}};
}

}  // namespace flexlocal::engine
