#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/cli/diagnosis.h"
#include "flexvolume/engine/quota/shared_volume.h"
#include "flexvolume/engine/volume/volume_folder.h"

namespace flexlocal::cli {
namespace {

using engine::Pool;

// A thin pool that is full stops the writes of every volume in it.
constexpr unsigned kNearlyFull = 80;
constexpr unsigned kFull = 95;

struct PoolUnderTest {
  const std::string& name;
  const Pool& pool;
  const NodeFacts& facts;

  Finding finding(std::string_view about, Level level, std::string found,
                  std::string advice = {}) const {
    return {concat("pool.", name, '.', about), level, std::move(found), std::move(advice)};
  }
};

const GroupFact* group_of(const PoolUnderTest& tested) {
  if (!tested.facts.groups) return nullptr;
  for (const GroupFact& group : *tested.facts.groups)
    if (group.name == tested.pool.volume_group) return &group;
  return nullptr;
}

Finding check_group(const PoolUnderTest& tested) {
  const std::string_view about = "volume-group";
  const std::string& name = tested.pool.volume_group;
  if (!tested.facts.groups)
    return tested.finding(about, Level::kError, tested.facts.groups.error().message(),
                          "see that `vgs` works on this node as root");
  const GroupFact* group = group_of(tested);
  if (group == nullptr)
    return tested.finding(about, Level::kError,
                          concat("volume group \"", name, "\" is not on this node"),
                          concat("make it with `vgcreate ", name, " DEVICE...`, or correct ",
                                 engine::kNodeConfigPath));
  if (group->missing_disks > 0)
    return tested.finding(
        about, Level::kError,
        concat(group->missing_disks, " of ", name, "'s ", group->disks, " disks are missing"),
        concat("bring the disk back; `pvs` and `vgs -o +vg_missing_pv_count ", name,
               "` say which. Nothing new can be made there until then"));
  if (group->free < group->extent)
    return tested.finding(about, Level::kWarning, concat(name, " is full: no volume can be made"),
                          concat("delete claims, or add a disk with `vgextend ", name, " DEVICE`"));
  return tested.finding(about, Level::kOk,
                        concat(name, ", ", to_string(group->free), " free of ",
                               to_string(group->size), " on ", group->disks, " disk(s)"));
}

void check_layout(const PoolUnderTest& tested, std::vector<Finding>& findings) {
  const unsigned needed = disks_needed(tested.pool.layout);
  const GroupFact* group = group_of(tested);
  if (group == nullptr || needed < 2) return;
  const std::string layout = to_string(tested.pool.layout);
  if (group->disks < needed)
    findings.push_back(
        tested.finding("layout", Level::kError,
                       concat("layout ", layout, " needs ", needed, " disks and ", group->name,
                              " has ", group->disks),
                       concat("add disks with `vgextend ", group->name,
                              " DEVICE`, or change layout in ", engine::kNodeConfigPath)));
  else
    findings.push_back(tested.finding("layout", Level::kOk, layout));
}

Finding judge_thin_pool(const PoolUnderTest& tested, const LogicalVolumeFact& thin) {
  const std::string_view about = "thin-pool";
  const std::string lv = concat(thin.group, '/', thin.name);
  if (thin.kind != "thin-pool")
    return tested.finding(about, Level::kError, concat(lv, " is no thin pool but ", thin.kind),
                          concat("name a thin pool as thin-pool in ", engine::kNodeConfigPath));
  if (!thin.zeroes)
    return tested.finding(
        about, Level::kError,
        concat(lv, " does not zero new blocks: a volume could show what another one deleted"),
        concat("`lvchange --zero y ", lv, '`'));
  if (!thin.data_percent || !thin.metadata_percent)
    return tested.finding(about, Level::kWarning, concat(lv, " is not active"),
                          concat("`lvchange --activate y ", lv, '`'));
  const unsigned fullest = std::max(*thin.data_percent, *thin.metadata_percent);
  const std::string filled =
      concat(lv, ", data ", *thin.data_percent, " %, metadata ", *thin.metadata_percent, " %");
  if (fullest < kNearlyFull) return tested.finding(about, Level::kOk, filled);
  return tested.finding(
      about, fullest < kFull ? Level::kWarning : Level::kError,
      concat(filled, ": when it is full, every write to its volumes fails"),
      concat("`lvextend --size +SIZE ", lv, "` or `lvextend --poolmetadatasize +SIZE ", lv,
             "`, or delete claims"));
}

Finding check_thin_pool(const PoolUnderTest& tested) {
  const std::string lv = concat(tested.pool.volume_group, '/', tested.pool.thin_pool);
  if (!tested.facts.volumes)
    return tested.finding("thin-pool", Level::kError, tested.facts.volumes.error().message(),
                          "see that `lvs` works on this node as root");
  for (const LogicalVolumeFact& volume : *tested.facts.volumes)
    if (volume.group == tested.pool.volume_group && volume.name == tested.pool.thin_pool)
      return judge_thin_pool(tested, volume);
  return tested.finding("thin-pool", Level::kError, concat(lv, " is not on this node"),
                        concat("make it with `lvcreate --type thin-pool --zero y --size SIZE "
                               "--name ",
                               tested.pool.thin_pool, ' ', tested.pool.volume_group,
                               "`, or correct ", engine::kNodeConfigPath));
}

// The kernel prints prjquota when limits are enforced, pqnoenforce when they are only counted.
bool enforces_project_quota(const engine::MountEntry& entry) {
  return engine::has_option(entry.super_options, "prjquota");
}

Finding check_quota_mount(const PoolUnderTest& tested, std::string_view about,
                          const std::string& path) {
  const std::string advice = concat(
      "mount an XFS there with `-o prjquota`, and say so in /etc/fstab; XFS takes the "
      "option when it is mounted, not with remount");
  if (!tested.facts.mounts)
    return tested.finding(about, Level::kError, tested.facts.mounts.error().message(),
                          "see that /proc is mounted");
  const auto there = engine::mounts_at(*tested.facts.mounts, path);
  if (there.empty())
    return tested.finding(about, Level::kError, concat("nothing is mounted at ", path), advice);
  if (there.back().fs_type != "xfs")
    return tested.finding(about, Level::kError,
                          concat(path, " is ", there.back().fs_type, " and not xfs"), advice);
  if (!enforces_project_quota(there.back()))
    return tested.finding(about, Level::kError,
                          concat(path, " is mounted without prjquota: no limit would hold"),
                          advice);
  return tested.finding(about, Level::kOk, concat(path, " on ", there.back().source));
}

// The file system that is made for the pool; it is mounted where shared_volume.h says.
Finding check_quota_size(const PoolUnderTest& tested) {
  const std::string path = concat(engine::kPoolFolder, '/', tested.name);
  if (tested.facts.mounts && engine::mounts_at(*tested.facts.mounts, path).empty())
    return tested.finding(
        "quota-size", Level::kOk,
        concat("not mounted at ", path, ": the pool's next call makes it or mounts it"));
  return check_quota_mount(tested, "quota-size", path);
}

}  // namespace

std::vector<Finding> diagnose_pools(const engine::NodeConfig& config, const NodeFacts& facts) {
  std::vector<Finding> findings;
  for (const auto& [name, pool] : config.pools) {
    const PoolUnderTest tested{name, pool, facts};
    if (!pool.volume_group.empty()) findings.push_back(check_group(tested));
    check_layout(tested, findings);
    if (!pool.thin_pool.empty()) findings.push_back(check_thin_pool(tested));
    if (!pool.quota_path.empty())
      findings.push_back(check_quota_mount(tested, "quota-path", pool.quota_path));
    if (pool.quota_size.count() != 0) findings.push_back(check_quota_size(tested));
  }
  return findings;
}

}  // namespace flexlocal::cli
