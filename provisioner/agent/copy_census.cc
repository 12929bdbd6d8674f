#include "provisioner/agent/copy_census.h"

#include <map>

#include "provisioner/agent/host_copy.h"

namespace flexlocal::provisioner {
namespace {

// By copy.
using Copies = std::map<std::string, ToldCopy>;

void add_records(const engine::Inventory& seen, const std::string& cluster_id, Copies& copies) {
  for (const auto& [name, record] : seen.records) {
    if (record.spec.cluster_id != cluster_id) continue;
    if (record.state == engine::RecordState::kRefused) continue;
    copies.insert_or_assign(record.spec.copy,
                            ToldCopy{.volume = record.spec,
                                     .claim_uid = record.claim_uid,
                                     .claim_name = record.order.claim_name,
                                     .ready = record.state >= engine::RecordState::kReady,
                                     .retained = record.retained});
  }
}

void add_tagged(const engine::Ownership& tags, engine::Backend backend,
                const std::string& cluster_id, Copies& copies) {
  if (tags.cluster_id != cluster_id || tags.shared) return;
  auto spec = engine::spec_by_tags(tags, backend);
  if (!spec) return;
  const auto [found, added] = copies.try_emplace(tags.copy, ToldCopy{.volume = std::move(*spec),
                                                                     .claim_uid = {},
                                                                     .claim_name = {},
                                                                     .ready = tags.ready,
                                                                     .retained = tags.retained});
  if (added) return;
  found->second.ready = found->second.ready || tags.ready;
  found->second.retained = found->second.retained || tags.retained;
}

}  // namespace

std::vector<ToldCopy> unordered_copies(
    const engine::Inventory& seen, const std::string& cluster_id,
    const std::function<bool(const engine::VolumeSpec& spec)>& is_ordered) {
  Copies copies;
  add_records(seen, cluster_id, copies);
  for (const engine::LogicalVolume& volume : seen.volumes) {
    if (!volume.ownership) continue;
    const bool thin = !volume.thin_pool.empty();
    add_tagged(*volume.ownership, thin ? engine::Backend::kThin : engine::Backend::kLvm, cluster_id,
               copies);
  }
  for (const engine::OwnedFolder& folder : seen.folders)
    add_tagged(folder.owner, engine::Backend::kQuota, cluster_id, copies);
  std::vector<ToldCopy> unordered;
  for (auto& [id, copy] : copies)
    if (!is_ordered(copy.volume)) unordered.push_back(std::move(copy));
  return unordered;
}

}  // namespace flexlocal::provisioner
