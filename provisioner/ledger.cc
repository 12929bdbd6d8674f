#include "provisioner/ledger.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// Only what others do to the volume group makes it grow stale: our own volumes are counted.
constexpr auto kFresh = std::chrono::seconds(10);

}  // namespace

Task<Status> Ledger::refresh(bool anew) {
  if (!anew && inventory_ && clock_.now() - taken_ < kFresh) co_return Status();
  const auto asked = clock_.now();
  auto inventory = co_await storage_.inventory();
  if (!inventory) co_return inventory.error();
  inventory_ = std::move(*inventory);
  taken_ = asked;
  co_return Status();
}

Result<PoolRoom> Ledger::room(const std::string& pool, const std::string& claim) const {
  const auto configured = engine::find_pool(config_, pool);
  if (!configured) return Error(ErrorCode::kNotFound, configured.error().message());
  if (!inventory_) return Error(ErrorCode::kUnavailable, "the disks have not been looked at yet");
  const auto& groups = inventory_->groups;
  const auto group =
      std::find_if(groups.begin(), groups.end(), [&](const engine::VolumeGroup& candidate) {
        return candidate.name == configured->volume_group;
      });
  if (group == groups.end())
    return Error(ErrorCode::kNotFound, concat("pool \"", pool, "\": volume group \"",
                                              configured->volume_group, "\" is not on this node"));
  return PoolRoom{*group, free_space(*inventory_, *group, promises(claim))};
}

void Ledger::reserve(const std::string& claim, const engine::VolumeSpec& spec) {
  reserved_[claim] = {spec.name.text(), group_of(spec.pool), spec.size};
}

std::string Ledger::group_of(const std::string& pool) const {
  const auto found = config_.pools.find(pool);
  return found == config_.pools.end() ? std::string() : found->second.volume_group;
}

std::vector<Promise> Ledger::promises(const std::string& except_claim) const {
  std::vector<Promise> out;
  volumes_.for_each([&](const std::string& name, const Volume& volume) {
    if (volume.node != node_) return;
    const auto spec = spec_of(volume);
    if (spec) out.push_back({name, group_of(spec->pool), spec->size});
  });
  for (const auto& [claim, promise] : reserved_)
    if (claim != except_claim) out.push_back(promise);
  return out;
}

}  // namespace flexlocal::provisioner
