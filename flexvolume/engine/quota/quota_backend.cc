#include "flexvolume/engine/quota/quota_backend.h"

#include <algorithm>

#include "flexvolume/base/folder.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/quota/quota_room.h"
#include "flexvolume/engine/quota/shared_volume.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

Error no_file_system(const std::string& pool_name) {
  return Error(ErrorCode::kInvalid,
               concat("pool \"", pool_name,
                      "\" has neither quota-path nor quota-size in node.conf, so that it has no "
                      "quota volumes"));
}

// A folder's name in any area begins with its volume's.
std::optional<VolumeName> volume_of(const std::string& folder) {
  constexpr std::size_t kNameLength = 40;
  auto name = VolumeName::parse(std::string_view(folder).substr(0, kNameLength));
  return name ? std::optional(std::move(*name)) : std::nullopt;
}

// A volume's folder, to be bound.
MountSource source_of(const SharedFileSystem& shared, const std::string& volume) {
  return {.device = shared.mount().source,
          .fs_type = {},
          .data = {},
          .folder = shared.host_path(Area::kVolumes, volume),
          .root = SharedFileSystem::path_in(Area::kVolumes, volume)};
}

// What claims are promised of the group at the most. Each promise counts for every group, in the
// layout that takes most: node.conf may have its pool elsewhere by now.
Bytes promised_at_most(const VolumeGroup& group, const Inventory& inventory,
                       const NodeConfig& config) {
  Bytes all;
  for (const auto& [volume, record] : inventory.records) {
    if (record.state != RecordState::kPromised || record.spec.backend != Backend::kLvm) continue;
    Bytes most;
    for (const auto& [name, pool] : config.pools)
      most = std::max(most, cost(pool.layout, record.spec.size, group.extent));
    all += most;
  }
  return all;
}

Error being_removed(const VolumeSpec& spec) {
  return Error(ErrorCode::kDenied,
               concat("volume ", spec.name.text(), " is being removed and is not mounted"));
}

}  // namespace

QuotaBackend::QuotaBackend(const BackendParts& parts, ProjectFolders& folders, QuotaTuning tuning)
    : parts_(parts),
      folders_(folders),
      tuning_(std::move(tuning)),
      xfs_quota_(parts.runner, parts.tools) {}

Result<std::optional<SharedMount>> QuotaBackend::locate(const std::string& pool_name,
                                                        const Pool& pool, Absent absent) {
  if (pool.quota_size.count() != 0)
    return SharedVolume(parts_, pool_name, pool).ensure(absent == Absent::kMake);
  if (pool.quota_path.empty()) return no_file_system(pool_name);
  const auto table = parts_.mounter.table();
  if (!table) return table.error();
  auto found = find_shared_mount(*table, pool.quota_path);
  if (!found) return found.error();
  return std::optional(std::move(*found));
}

Result<std::optional<QuotaPool>> QuotaBackend::open(const std::string& pool_name, const Pool& pool,
                                                    Absent absent) {
  const std::string doing = concat("pool \"", pool_name, '"');
  auto mount = locate(pool_name, pool, absent);
  if (!mount) return mount.error().context(doing);
  if (!*mount) return std::optional<QuotaPool>();
  if (auto same = folders_.check_device(parts_.root + (*mount)->source, (*mount)->number); !same)
    return same.error().context(doing);
  auto shared = SharedFileSystem::open(std::move(**mount), parts_.root);
  if (!shared) return shared.error().context(doing);
  return std::optional<QuotaPool>(std::in_place, QuotaPoolParts{folders_, xfs_quota_, parts_.log},
                                  pool_name, pool.overcommit_percent, std::move(*shared));
}

// The record is the node's own word: with it, a folder that is missing is a loss and not a volume
// that is still to be made.
Result<std::optional<Record>> QuotaBackend::load_record(const VolumeSpec& spec) const {
  auto record = parts_.records.load(spec.name);
  if (!record || !*record) return record;
  if ((*record)->spec.backend != Backend::kQuota || !is_of((*record)->spec, spec))
    return Error(ErrorCode::kDenied, "the volume on this node belongs to another claim");
  return record;
}

Record QuotaBackend::record_of(const VolumeSpec& spec, std::uint32_t project_id, RecordState state,
                               const std::optional<Record>& before) {
  Record record = promised_record(spec, before ? before->claim_uid : std::string());
  if (before) record.order = before->order;
  record.state = state;
  record.project_id = project_id;
  return record;
}

Result<MountSource> QuotaBackend::make(const VolumeSpec& spec, const Pool& pool, int lock) {
  if (spec.on_delete == OnDelete::kZero)
    return Error(ErrorCode::kInvalid,
                 "onDelete \"zero\" is not possible with backend quota, whose volumes share one "
                 "file system and are removed file by file; accepted: discard, none");
  const auto record = load_record(spec);
  if (!record) return record.error();
  if (*record && (*record)->state == RecordState::kWiping) return being_removed(spec);
  if (*record && (*record)->state == RecordState::kRefused) return given_up(spec.name);
  auto opened = open(spec.pool, pool, Absent::kMake);
  if (!opened) return opened.error();
  if (!*opened)
    return Error(ErrorCode::kUnavailable, "the pool's shared file system was unmounted meanwhile");
  const auto folder = find_or_make(**opened, spec, *record, lock);
  if (!folder) return folder.error();
  if (auto checked = (*opened)->check(*folder, spec); !checked) return checked.error();
  if (!*record || (*record)->state == RecordState::kPromised) {
    const std::uint32_t id = folder->mark->project_id;
    Record ready = record_of(spec, id, RecordState::kReady, *record);
    ready.used = !folder->made;
    if (auto saved = parts_.records.save(ready); !saved) return saved.error();
  }
  MountSource source = source_of((*opened)->shared(), spec.name.text());
  source.for_one_pod = spec.access_mode == AccessMode::kReadWriteOncePod;
  return source;
}

Result<QuotaFolder> QuotaBackend::find_or_make(QuotaPool& pool, const VolumeSpec& spec,
                                               const std::optional<Record>& record, int lock) {
  const std::string& name = spec.name.text();
  auto found = pool.find(Area::kVolumes, name);
  if (!found) return found.error();
  if (*found) return std::move(**found);
  const std::string path = pool.shared().host_path(Area::kVolumes, name);
  const auto buried = QuotaRemoval(tuning_, pool, spec).is_buried();
  if (!buried) return buried.error();
  if (*buried) return being_removed(spec);
  if (!record) return unpromised(spec.name);
  if (record->state != RecordState::kPromised)
    return Error(
        ErrorCode::kCorrupt,
        concat("folder ", path, " held data and is gone; is another file system mounted at ",
               pool.shared().mount().path, '?'));
  if (auto created = pool.create(spec, lock); !created) return created.error();
  found = pool.find(Area::kVolumes, name);
  if (!found) return found.error();
  if (!*found) return Error(ErrorCode::kFailed, concat("folder ", path, " vanished; try again"));
  (*found)->made = true;
  return std::move(**found);
}

// A larger limit is seen at once.
Status QuotaBackend::finish_growth(const VolumeSpec&) { return {}; }

Status QuotaBackend::grow(const VolumeSpec& spec, const Pool& pool, Bytes size, int lock) {
  const std::string doing = concat("cannot grow volume ", spec.name.text());
  auto opened = open(spec.pool, pool, Absent::kLeave);
  if (!opened) return opened.error().context(doing);
  const Error missing(ErrorCode::kNotFound, concat(doing, ": it has not been made yet"));
  if (!*opened) return missing;
  const auto folder = (*opened)->find(Area::kVolumes, spec.name.text());
  if (!folder) return folder.error().context(doing);
  if (!*folder) return missing;
  if (auto checked = (*opened)->check(**folder, spec); !checked)
    return checked.error().context(doing);
  if (auto raised = (*opened)->raise(**folder, size, lock); !raised)
    return raised.error().context(doing);
  return {};
}

Result<bool> QuotaBackend::is_empty(const VolumeSpec& spec, const Pool& pool, const FileLock&) {
  auto opened = open(spec.pool, pool, Absent::kLeave);
  if (!opened) return opened.error().context(concat("cannot look into ", spec.name.text()));
  if (!*opened) return true;
  const auto found = QuotaRemoval(tuning_, **opened, spec).find_removable();
  if (!found) return found.error();
  return *found ? is_empty_folder((*found)->folder) : Result<bool>(true);
}

Result<Removal> QuotaBackend::remove(const VolumeSpec& spec, const Pool& pool) {
  auto opened = open(spec.pool, pool, Absent::kLeave);
  if (!opened) return opened.error().context(concat("cannot remove volume ", spec.name.text()));
  Removal removal;
  if (*opened) {
    auto removed = remove_from(**opened, spec);
    if (!removed || !removed->done) return removed;
  } else if (auto gone = prove_gone(spec); !gone) {
    return gone.error();
  }
  if (auto forgotten = parts_.records.remove(spec.name); !forgotten) return forgotten.error();
  return removal;
}

Result<Removal> QuotaBackend::remove_from(QuotaPool& pool, const VolumeSpec& spec) {
  QuotaRemoval removal(tuning_, pool, spec);
  const auto found = removal.find_removable();
  if (!found) return found.error();
  if (*found) {
    // From here on a mount is refused, even where the folder is not moved yet.
    const std::uint32_t id = (*found)->mark->project_id;
    Record wiping = record_of(spec, id, RecordState::kWiping, {});
    if (auto known = parts_.records.load(spec.name); known && *known) {
      wiping.order = (*known)->order;
      wiping.used = (*known)->used;
    }
    if (auto saved = parts_.records.save(wiping); !saved) return saved.error();
    if (auto buried = removal.bury(**found); !buried) {
      if (buried.error().code() != ErrorCode::kNoSpace) return buried.error();
      auto cleared = removal.clear_in_place(**found);
      if (!cleared || !cleared->done) return cleared;
    }
    parts_.log.info("quota folder being removed",
                    {{"volume", spec.name.text()}, {"project", concat(id)}});
  } else if (const auto buried = removal.is_buried(); !buried || !*buried) {
    if (!buried) return buried.error();
    if (auto gone = prove_gone(spec); !gone) return gone.error();
  }
  return removal.clear_away();
}

// The folder says it by a flag, and the record beside it, which a host may lose: both must deny it
// before the volume may be taken for a leftover.
Status QuotaBackend::set_retained(const VolumeSpec& spec, const Pool& pool, Retained retained) {
  const bool wanted = retained == Retained::kYes;
  if (wanted)
    if (auto kept = keep_folder(spec, pool, true); !kept) return kept;
  auto record = load_record(spec);
  const bool lost = record && (!*record || (*record)->state == RecordState::kPromised);
  if (lost) record = restore_record(spec, pool, *record);
  if (!record) return record.error();
  if (*record && (lost || (*record)->retained != wanted)) {
    (*record)->retained = wanted;
    if (auto saved = parts_.records.save(**record); !saved) return saved;
  }
  return wanted ? Status() : keep_folder(spec, pool, false);
}

Status QuotaBackend::keep_folder(const VolumeSpec& spec, const Pool& pool, bool kept) {
  auto opened = open(spec.pool, pool, Absent::kLeave);
  if (!opened) return opened.error();
  if (!*opened) return {};
  const auto folder = (*opened)->find(Area::kVolumes, spec.name.text());
  if (!folder) return folder.error();
  if (!*folder || !(*folder)->mark || !owns((*folder)->mark->owner, spec)) return {};
  return folders_.set_kept((*folder)->folder, kept);
}

// Of a folder that is there; not saved. Nothing when the volume has not been made.
Result<std::optional<Record>> QuotaBackend::restore_record(const VolumeSpec& spec, const Pool& pool,
                                                           const std::optional<Record>& before) {
  auto opened = open(spec.pool, pool, Absent::kLeave);
  if (!opened) return opened.error();
  if (!*opened) return std::optional<Record>();
  const auto folder = (*opened)->find(Area::kVolumes, spec.name.text());
  if (!folder) return folder.error();
  if (!*folder) return std::optional<Record>();
  if (auto checked = (*opened)->check(**folder, spec); !checked) return checked.error();
  Record record = record_of(spec, (*folder)->mark->project_id, RecordState::kReady, before);
  const auto project = folders_.project((*folder)->folder);
  if (!project) return project.error();
  record.retained = project->kept;
  return std::optional(std::move(record));
}

void QuotaBackend::restore_records(const Inventory& inventory, const NodeConfig& config) {
  for (const OwnedFolder& folder : inventory.folders) {
    const auto pool = config.pools.find(folder.pool);
    const auto spec = spec_by_tags(folder.owner, Backend::kQuota);
    if (pool == config.pools.end() || !spec || spec->name.text() != folder.name) continue;
    if (auto restored = restore_if_lost(*spec, pool->second); !restored)
      parts_.log.warning("a volume without its record cannot be mounted",
                         {{"volume", folder.name}, {"error", restored.error().message()}});
  }
}

Status QuotaBackend::restore_if_lost(const VolumeSpec& spec, const Pool& pool) {
  // A lock is only waited for where there is something to do.
  if (const auto glance = parts_.records.load(spec.name); !glance || *glance)
    return glance ? Status() : glance.error();
  const auto lock = lock_volume(parts_.locks, spec.name);
  if (!lock) return lock.error();
  const auto now = parts_.records.load(spec.name);
  if (!now || *now) return now ? Status() : now.error();
  // The inventory may be older than a removal: a record of what is gone would stay for ever.
  auto record = restore_record(spec, pool, {});
  if (!record || !*record) return record ? Status() : record.error();
  return parts_.records.save(**record);
}

// "Not found" on another file system than the volume is on is no proof.
Status QuotaBackend::prove_gone(const VolumeSpec& spec) const {
  const auto record = parts_.records.load(spec.name);
  if (!record) return record.error();
  if (!*record || (*record)->state != RecordState::kReady) return {};
  return Error(
      ErrorCode::kUnavailable,
      concat("volume ", spec.name.text(), " was made on this node, but is not where pool \"",
             spec.pool, "\" is in node.conf; mount its file system or correct node.conf"));
}

Result<std::vector<QuotaVolume>> QuotaBackend::volumes(const std::string& pool_name,
                                                       const Pool& pool) {
  auto opened = open(pool_name, pool, Absent::kLeave);
  if (!opened) return opened.error();
  if (!*opened) return std::vector<QuotaVolume>();
  return volumes_of(**opened);
}

Result<std::vector<QuotaVolume>> QuotaBackend::volumes_of(QuotaPool& pool) {
  std::vector<QuotaVolume> all;
  for (const Area area : {Area::kVolumes, Area::kNew, Area::kTrash}) {
    const auto names = pool.shared().names(area);
    if (!names) return names.error();
    for (const std::string& folder : *names) {
      const auto name = volume_of(folder);
      if (!name) continue;
      const auto found = pool.find(area, folder);
      if (!found) return found.error();
      if (!*found || !(*found)->mark) continue;  // gone meanwhile, or nothing in it
      const auto quota = pool.quota((*found)->mark->project_id);
      if (!quota) return quota.error();
      const auto project = folders_.project((*found)->folder);
      if (!project) return project.error();
      Ownership owner = (*found)->mark->owner;
      owner.retained = project->kept;
      all.push_back({name->text(), area, std::move(owner), quota->limit, quota->used});
    }
  }
  return all;
}

void QuotaBackend::settle_pools(const Inventory& inventory, const NodeConfig& config) {
  for (const LogicalVolume& volume : inventory.shared) {
    const auto found = config.pools.find(volume.ownership->pool);
    if (found == config.pools.end() || found->second.volume_group != volume.group) continue;
    const auto group = std::find_if(inventory.groups.begin(), inventory.groups.end(),
                                    [&](const auto& g) { return g.name == volume.group; });
    if (group == inventory.groups.end()) continue;
    SharedVolume shared(parts_, found->first, found->second);
    if (auto settled = shared.settle(volume, promised_at_most(*group, inventory, config)); !settled)
      parts_.log.warning("a pool's shared file system is not as node.conf says",
                         {{"pool", found->first}, {"error", settled.error().message()}});
  }
}

Status QuotaBackend::add_to(Inventory& inventory, const NodeConfig& config) {
  for (const auto& [name, pool] : config.pools) {
    if (space_id(Backend::kQuota, name, pool).empty()) continue;
    if (auto added = add_pool(inventory, name, pool); !added) {
      parts_.log.warning("a pool's shared file system cannot be seen",
                         {{"pool", name}, {"error", added.error().message()}});
      if (pool.quota_size.count() != 0) inventory.unseen.push_back(name);
    }
  }
  return {};
}

Status QuotaBackend::add_pool(Inventory& inventory, const std::string& name, const Pool& pool) {
  const std::string id = space_id(Backend::kQuota, name, pool);
  auto opened = open(name, pool, Absent::kLeave);
  if (!opened) return opened.error();
  if (!*opened) {
    inventory.spaces.push_back(space_to_make(inventory, id, name, pool));
    return {};
  }
  // Both of one moment: no volume is missing from both, or counted in one only.
  const auto lock = (*opened)->shared().lock();
  if (!lock) return lock.error();
  const auto volumes = volumes_of(**opened);
  if (!volumes) return volumes.error();
  const auto room = (*opened)->room();
  if (!room) return room.error();
  const auto table = parts_.mounter.table();
  if (!table) return table.error();
  for (const QuotaVolume& volume : *volumes) {
    inventory.holdings.push_back({volume.name, id, volume.limit});
    if (volume.area != Area::kVolumes || !volume.owner) continue;
    const MountSource source = source_of((*opened)->shared(), volume.name);
    const bool open = std::ranges::any_of(
        *table, [&](const MountEntry& entry) { return source.is_shown_by(entry); });
    inventory.folders.push_back({volume.name, name, *volume.owner, volume.limit, open});
  }
  inventory.spaces.push_back({id, room->room.size, room->room.free(), room->block, {}});
  return {};
}

}  // namespace flexlocal::engine
