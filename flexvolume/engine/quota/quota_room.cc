#include "flexvolume/engine/quota/quota_room.h"

#include <algorithm>

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

}  // namespace flexlocal::engine
