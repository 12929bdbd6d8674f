#include "flexvolume/engine/lvm/suspension.h"

#include <algorithm>

#include "flexvolume/base/first_failure.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/mapper_name.h"
#include "flexvolume/engine/lvm/pool_groups.h"
#include "flexvolume/engine/lvm/rollback_guard.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

using Rows = std::vector<MapperRow>;

// The devices that a thin pool's volumes stand on.
bool is_below_pool(const std::string& name, const std::string& group, const std::string& pool) {
  if (pool.empty()) return false;
  const std::string start = mapper_name(group, pool);
  return name == start + "-tpool" || name.starts_with(start + "_tdata") ||
         name.starts_with(start + "_tmeta");
}

// These and the pool's own device, which only LVM uses.
bool is_of_pool(const std::string& name, const std::string& group, const std::string& pool) {
  return !pool.empty() && (name == mapper_name(group, pool) || is_below_pool(name, group, pool));
}

// The volume's own device, and those that it stands on: of a mirror, below a snapshot's origin
// (lib/activate/dev_manager.c, "real"), before an administrator's cache.
bool is_of_volume(const std::string& name, const LogicalVolume& volume) {
  const std::string own = mapper_name(volume.group, volume.name);
  if (!name.starts_with(own)) return false;
  const std::string_view layer = std::string_view(name).substr(own.size());
  return layer.empty() || layer.starts_with("_rimage_") || layer.starts_with("_rmeta_") ||
         layer == "-real" || layer == "_corig" || layer == "_wcorig";
}

// A pool's table that was not taken up is left alone: a pool that has taken up a larger one never
// takes a smaller one again (drivers/md/dm-thin.c, maybe_resize_data_dev), and no command of ours
// extends a pool.
bool is_pool_suspended(const Rows& rows, const std::string& group, const std::string& pool) {
  return std::any_of(rows.begin(), rows.end(), [&](const MapperRow& row) {
    return row.suspended && is_of_pool(row.name, group, pool);
  });
}

bool is_volume_unfinished(const Rows& rows, const LogicalVolume& volume) {
  const auto is_left = [&](const MapperRow& row) {
    if (is_of_volume(row.name, volume)) return row.unfinished();
    return row.suspended && is_below_pool(row.name, volume.group, volume.thin_pool);
  };
  return std::any_of(rows.begin(), rows.end(), is_left);
}

bool is_group_unfinished(const Rows& rows, const std::string& group) {
  return std::any_of(rows.begin(), rows.end(), [&](const MapperRow& row) {
    return row.unfinished() && is_in_group(row.name, group);
  });
}

bool is_in_pools(const NodeConfig& config, const std::string& name) {
  const auto groups = groups_of(config);
  return std::any_of(groups.begin(), groups.end(),
                     [&](const std::string& group) { return is_in_group(name, group); });
}

Error stays_unfinished(const std::string& what) {
  return Error(ErrorCode::kBusy,
               concat("a killed command left ", what,
                      " suspended or with another table than LVM's metadata say, and `lvchange "
                      "--refresh` did not mend it; see `dmsetup info -c -o "
                      "name,suspended,tables_loaded`"));
}

}  // namespace

Result<std::optional<MapperState>> Resumer::mapper_state_of(const std::string& path) const {
  const auto state = parts_.devices.mapper_state(path);
  if (state) return std::optional(*state);
  // Not active, or not LVM's: whoever uses it finds out.
  if (state.error().code() == ErrorCode::kNotFound || state.error().code() == ErrorCode::kDenied)
    return std::optional<MapperState>();
  return state.error();
}

Result<bool> Resumer::is_suspended(const std::string& group, const std::string& name,
                                   const std::string& thin_pool) const {
  const auto own = mapper_state_of(device_path(group, name));
  if (!own) return own.error();
  if (*own && (*own)->suspended) return true;
  if (thin_pool.empty()) return false;
  // What suspends the pool's data or metadata has suspended this one before (libdm/libdm-deptree.c,
  // dm_tree_suspend_children).
  const auto pool = mapper_state_of(concat(device_path(group, thin_pool), "-tpool"));
  if (!pool) return pool.error();
  if (*pool) return (*pool)->suspended;
  // A killed command may have left it without its node in /dev.
  const auto all = parts_.devices.suspended_devices();
  if (!all) return all.error();
  return std::any_of(all->begin(), all->end(), [&](const std::string& device) {
    return is_below_pool(device, group, thin_pool);
  });
}

Status Resumer::resume(const std::string& group, const VolumeName& name,
                       const std::string& device_uuid, const std::string& thin_pool) {
  const auto suspended = is_suspended(group, name.text(), thin_pool);
  if (!suspended) return suspended.error();
  if (!*suspended) return {};
  const auto finished = finish_if(
      group, name, [&](const LogicalVolume& volume) { return volume.device_uuid == device_uuid; });
  // By older metadata than what runs, it runs on as it did: see resume_with_live_tables().
  if (!finished && finished.error().code() == ErrorCode::kOutdated) {
    const auto still = is_suspended(group, name.text(), thin_pool);
    if (still && !*still) return {};
  }
  if (!finished) return finished.error();
  if (*finished) return {};
  return Error(ErrorCode::kDenied,
               concat("the device of ", group, '/', name.text(),
                      " is suspended and not the volume's; see `dmsetup info`"));
}

Result<bool> Resumer::finish_if(const std::string& group, const VolumeName& name,
                                const IsMeant& is_meant) {
  const auto lock = lock_volume_group(parts_.locks, group);
  if (!lock) return lock.error();
  const auto found = parts_.lvm.find_on(group, name);
  if (!found) return found.error();
  if (!*found || !is_meant(**found)) return false;
  if (auto finished = finish(**found); !finished) return finished.error();
  return true;
}

Result<bool> Resumer::is_finished(const LogicalVolume& volume) {
  const auto state = parts_.devices.mapper_state(device_path(volume.group, volume.name));
  if (!state && state.error().code() == ErrorCode::kNotFound) return true;
  if (!state) return state.error();
  const auto rows = parts_.lvm.mapper_rows();
  if (!rows) return rows.error();
  return !is_volume_unfinished(*rows, volume) && state->size == volume.size;
}

Status Resumer::finish(const LogicalVolume& volume) {
  const auto finished = is_finished(volume);
  if (!finished) return finished.error();
  return *finished ? Status() : finish_found(volume);
}

// What an lvextend left that had not committed has no file system in it yet: that grows last. Where
// nobody can tell, nothing is cut off either.
Status Resumer::check_not_cut(const LogicalVolume& volume) {
  const std::string device = device_path(volume.group, volume.name);
  const auto state = mapper_state_of(device);
  if (!state) return state.error();
  if (!*state || (*state)->size <= volume.size) return {};
  const auto used = used_of(device, volume.open);
  if (used && *used <= volume.size) return {};
  return older_metadata(
      concat("device ", device, " has ", to_string((*state)->size), ", its file system ",
             used ? to_string(*used) : "as much, for what is known", ", and logical volume ",
             volume.group, '/', volume.name, " only ", to_string(volume.size)),
      volume.group);
}

// How much of the device its file system uses. Nothing here may wait for the device: a device below
// it may be suspended, and the lock of its group is held.
Result<Bytes> Resumer::used_of(const std::string& device, bool open) const {
  const auto table = parts_.mounter.table();
  if (!table) return table.error();
  for (const MountEntry& entry : *table) {
    if (entry.source != device) continue;
    // The XFS's own word: on the disk it may stand somewhat later. Any mount of it knows.
    if (entry.fs_type == "xfs") return parts_.devices.xfs_size(entry.mount_point);
    open = false;
  }
  // Of a mount that is not seen here nobody knows what the disk has yet.
  if (open) return Error(ErrorCode::kUnavailable, "it is open, and mounted where that is not seen");
  const auto suspended = parts_.devices.suspended_devices();
  if (!suspended) return suspended.error();
  if (suspended->empty()) {
    const auto start = parts_.devices.read(device, Bytes(0), kSuperblockBytes);
    return start ? Result<Bytes>(file_system_size(*start)) : start.error();
  }
  // What a mounted ext4 has read of its superblock: with blocks of 1 KiB no more than these bytes.
  const auto start = parts_.devices.read_cached(device, Bytes(kExtAt), kSuperblockBytes - kExtAt);
  if (!start) return start.error();
  return file_system_size(concat(std::string(kExtAt, '\0'), *start));
}

// Where LVM's metadata are older than what runs, no table of theirs is loaded; but nobody waits for
// a device that they have left suspended. Returns `why`, or why not even that was done.
Status Resumer::resume_with_live_tables(const Error& why,
                                        const std::function<bool(const MapperRow&)>& is_meant) {
  const auto rows = parts_.lvm.mapper_rows();
  if (!rows) return rows.error();
  for (const MapperRow& row : *rows) {
    if (!row.unfinished() || !is_meant(row)) continue;
    if (auto kept = parts_.lvm.resume_with_live_table(row.name); !kept)
      return kept.error().context(why.message());
    parts_.log.warning("let a device run on with its table, as LVM's metadata are older",
                       {{"device", row.name}});
  }
  return why;
}

// A pool comes first: to refresh a volume on a pool that is suspended waits for the pool.
Status Resumer::finish_found(const LogicalVolume& volume) {
  const std::string what = concat("logical volume ", volume.group, '/', volume.name);
  RollbackGuard guard(parts_);
  auto current = guard.check(volume.group, volume.name);
  if (current) current = guard.check_open(volume);
  if (!current)
    return current.error().code() != ErrorCode::kOutdated
               ? current
               : resume_with_live_tables(current.error(), [&](const MapperRow& row) {
                   return is_of_volume(row.name, volume) ||
                          is_of_pool(row.name, volume.group, volume.thin_pool);
                 });
  if (auto pool = finish_pool_locked(volume.group, volume.thin_pool); !pool) return pool;
  if (auto whole = check_not_cut(volume); !whole) return whole;
  if (auto refreshed = parts_.lvm.refresh(volume); !refreshed)
    return refreshed.error().context(concat("finishing what a killed command left of ", what));
  // A killed lvextend may have committed what it had not done, so the size is asked for again.
  const auto name = VolumeName::parse_any(volume.name);
  auto found = name ? parts_.lvm.find_on(volume.group, *name)
                    : Result<std::optional<LogicalVolume>>(std::optional(volume));
  if (!found) return found.error();
  if (!*found || (*found)->uuid != volume.uuid) return {};  // it is gone: nothing of it is left
  const auto finished = is_finished(**found);
  if (!finished) return finished.error();
  if (!*finished) return stays_unfinished(what);
  parts_.log.warning("finished what a killed LVM command had left of a volume's device",
                     {{"volume", volume.name}, {"group", volume.group}});
  return {};
}

Status Resumer::mend_size(const LogicalVolume& seen) {
  const auto state = parts_.devices.mapper_state(device_path(seen.group, seen.name));
  if (!state && state.error().code() == ErrorCode::kNotFound) return {};
  if (!state) return state.error();
  const auto name = VolumeName::parse_any(seen.name);
  if (state->size == seen.size || !name) return {};
  const auto finished = finish_if(
      seen.group, *name, [&](const LogicalVolume& volume) { return volume.uuid == seen.uuid; });
  return finished ? Status() : finished.error();
}

Status Resumer::resume_all(const NodeConfig& config) {
  const auto all = parts_.devices.suspended_devices();
  if (!all) return all.error();
  const bool any = std::any_of(all->begin(), all->end(), [&](const std::string& device) {
    return is_in_pools(config, device);
  });
  return any ? finish_all(config) : Status();
}

Status Resumer::finish_all(const NodeConfig& config) {
  const auto devices = parts_.devices.mapper_devices();
  if (!devices) return devices.error();
  std::vector<std::string> ours;
  for (const MapperDevice& device : *devices)
    if (is_in_pools(config, device.name)) ours.push_back(device.name);
  // As nearly always, and then no program is started. Where the kernel does not say, dmsetup does.
  const auto unfinished = parts_.devices.has_unfinished(ours);
  if (ours.empty() || (unfinished && !*unfinished)) return {};
  const auto rows = parts_.lvm.mapper_rows();
  if (!rows) return rows.error();
  FirstFailure all;
  for (const auto& named : config.pools) all.note(finish_thin_pool(named.second, *rows));
  for (const std::string& group : groups_of(config))
    if (is_group_unfinished(*rows, group)) all.note(finish_volumes(group, *rows));
  return all.status();
}

Status Resumer::finish_volumes(const std::string& group, const Rows& rows) {
  const auto volumes = parts_.lvm.volumes_on(group);
  if (!volumes) return volumes.error();
  FirstFailure all;
  for (const LogicalVolume& volume : *volumes) {
    if (!volume.owned || !is_volume_unfinished(rows, volume)) continue;
    all.note(finish_now(volume));
  }
  return all.status();
}

// A volume of ours may have grown since it was looked at, and is looked up again under the group's
// lock. One that a person has renamed nobody else grows.
Status Resumer::finish_now(const LogicalVolume& volume) {
  const auto name = VolumeName::parse_any(volume.name);
  if (!name) {
    const auto lock = lock_volume_group(parts_.locks, volume.group);
    return lock ? finish(volume) : Status(lock.error());
  }
  const auto finished = finish_if(
      volume.group, *name, [&](const LogicalVolume& now) { return now.uuid == volume.uuid; });
  return finished ? Status() : finished.error();
}

Status Resumer::finish_thin_pool(const Pool& pool, const Rows& rows) {
  if (!is_pool_suspended(rows, pool.volume_group, pool.thin_pool)) return {};
  const auto lock = lock_volume_group(parts_.locks, pool.volume_group);
  if (!lock) return lock.error();
  return finish_pool_locked(pool.volume_group, pool.thin_pool);
}

Status Resumer::finish_pool_locked(const std::string& group, const std::string& pool) {
  if (pool.empty()) return {};
  const auto before = parts_.lvm.mapper_rows();
  if (!before) return before.error();
  if (!is_pool_suspended(*before, group, pool)) return {};
  if (auto current = RollbackGuard(parts_).check(group); !current)
    return current.error().code() != ErrorCode::kOutdated
               ? current
               : resume_with_live_tables(current.error(), [&](const MapperRow& row) {
                   return is_of_pool(row.name, group, pool);
                 });
  const std::string what = concat("thin pool ", group, '/', pool);
  if (auto refreshed = parts_.lvm.refresh_thin_pool(group, pool); !refreshed)
    return refreshed.error().context(concat("finishing what a killed command left of ", what));
  const auto after = parts_.lvm.mapper_rows();
  if (!after) return after.error();
  if (is_pool_suspended(*after, group, pool)) return stays_unfinished(what);
  parts_.log.warning("finished what a killed LVM command had left of a thin pool",
                     {{"thin_pool", pool}, {"group", group}});
  return {};
}

}  // namespace flexlocal::engine
