#include "provisioner/controller/reclaim/orphan_plan.h"

#include <algorithm>
#include <optional>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr unsigned kEnoughLists = 2;

// The pool must lead back to where the volume is: its removal goes by the pool.
bool is_in_its_pool(const engine::LogicalVolume& volume, const engine::NodeConfig& config) {
  const auto pool = config.pools.find(volume.ownership->pool);
  if (pool == config.pools.end() || pool->second.volume_group != volume.group) return false;
  return volume.thin_pool.empty() || pool->second.thin_pool == volume.thin_pool;
}

// Nothing of another cluster's, or of what is called otherwise than it says itself.
std::optional<engine::VolumeSpec> spec_of_owner(const engine::Ownership& owner,
                                                const std::string& called,
                                                const std::string& cluster_id,
                                                engine::Backend backend) {
  if (owner.cluster_id != cluster_id) return std::nullopt;
  auto spec = engine::spec_by_tags(owner, backend);
  if (!spec || spec->name.text() != called) return std::nullopt;
  return std::move(*spec);
}

// Beside the folder's own flag, which its owner can clear, its record says it. Without one, or by
// one that was made anew from the folder, nobody knows.
bool may_be_retained(const engine::Inventory& inventory, const engine::OwnedFolder& folder) {
  const auto recorded = inventory.claims.find(folder.name);
  if (recorded == inventory.claims.end() ||
      recorded->second.cluster_id != folder.owner.cluster_id || recorded->second.found)
    return true;
  return inventory.is_retained(folder.name);
}

}  // namespace

std::vector<Suspect> suspects_in(const engine::Inventory& inventory,
                                 const engine::NodeConfig& config, const std::string& cluster_id) {
  std::vector<Suspect> suspects;
  for (const engine::LogicalVolume& volume : inventory.volumes) {
    if (!volume.ownership || volume.ownership->retained || inventory.is_retained(volume.name) ||
        !is_in_its_pool(volume, config))
      continue;
    const auto backend = volume.thin_pool.empty() ? engine::Backend::kLvm : engine::Backend::kThin;
    auto spec = spec_of_owner(*volume.ownership, volume.name, cluster_id, backend);
    if (spec) suspects.push_back({std::move(*spec), volume.group, volume.uuid, volume.size});
  }
  for (const engine::OwnedFolder& folder : inventory.folders) {
    if (folder.owner.pool != folder.pool || folder.owner.retained ||
        may_be_retained(inventory, folder))
      continue;
    auto spec = spec_of_owner(folder.owner, folder.name, cluster_id, engine::Backend::kQuota);
    if (spec)
      suspects.push_back({std::move(*spec), folder.pool, folder.owner.attempt, folder.limit});
  }
  return suspects;
}

std::vector<OrphanStep> OrphanRegister::sweep(const OrphanSweep& look) {
  std::vector<OrphanStep> steps;
  std::set<std::string> seen;
  orphans_ = 0;
  for (const Suspect& suspect : look.suspects) {
    if (look.volumes.contains(suspect.name())) continue;
    seen.insert(suspect.place());
    judge(suspect, look, steps);
  }
  std::erase_if(known_, [&](const auto& entry) { return !seen.contains(entry.first); });
  return steps;
}

OrphanRegister::Known& OrphanRegister::known(const Suspect& suspect, Clock::Instant now) {
  Known& entry = known_[suspect.place()];
  if (entry.lists == 0 || entry.uuid != suspect.uuid) entry = {suspect.uuid, now};
  ++entry.lists;
  return entry;
}

void OrphanRegister::judge(const Suspect& suspect, const OrphanSweep& look,
                           std::vector<OrphanStep>& steps) {
  Known& entry = known(suspect, look.now);
  if (look.claim_uids.contains(suspect.spec.name.claim_uid())) {
    entry.since = look.now;
    if (entry.lists >= kEnoughLists && !entry.told_claim)
      steps.push_back({OrphanAction::kTellClaim, suspect});
    return;
  }
  if (entry.lists < kEnoughLists || look.now - entry.since < grace_) return;
  ++orphans_;
  // A node without any PersistentVolume is more often one that asks wrongly than one that was left.
  if (policy_ == OrphanPolicy::kDelete && !look.volumes.empty())
    steps.push_back({OrphanAction::kRemove, suspect});
  else if (!entry.reported)
    steps.push_back(
        {policy_ == OrphanPolicy::kDelete ? OrphanAction::kReportOnly : OrphanAction::kReport,
         suspect});
}

void OrphanRegister::done(const OrphanStep& step) {
  const auto found = known_.find(step.suspect.place());
  if (found == known_.end()) return;
  if (step.action == OrphanAction::kTellClaim) found->second.told_claim = true;
  if (step.action == OrphanAction::kReport || step.action == OrphanAction::kReportOnly)
    found->second.reported = true;
}

}  // namespace flexlocal::provisioner
