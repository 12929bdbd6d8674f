#include "flexvolume/engine/lvm/lv_parts.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/thin_room.h"

namespace flexlocal::engine {
namespace {

std::string name_of(const std::string& pool_name, const Pool& pool) {
  return concat("pool \"", pool_name, "\" (volume group \"", pool.volume_group, "\")");
}

Error lack_on_disks(Lvm& lvm, const std::string& name, const Pool& pool, Bytes size, Bytes extent,
                    const Error& error) {
  const auto disks = lvm.disks(pool.volume_group);
  if (!disks) return error;
  const Bytes most = largest(pool.layout, *disks, extent);
  if (real_size(pool.layout, size, extent) <= most) return error;
  const auto usable = std::count_if(disks->begin(), disks->end(),
                                    [&](Bytes free) { return free >= extent + extent; });
  return Error(
      ErrorCode::kNoSpace,
      concat(name, " with layout ", to_string(pool.layout), " needs room on ",
             disks_needed(pool.layout), " disks; ", usable, " of its ", disks->size(),
             " disks have any, enough for ", to_string(most), ", ", to_string(size), " asked"));
}

// LVM takes a new pool down before it makes the first volume in it (lib/metadata/thin_manip.c,
// check_new_thin_pool): what was killed there must find it again. One with volumes and no remains
// of a killed command may be down for a repair.
Result<ThinPool> active_thin_pool(Lvm& lvm, const Pool& pool) {
  auto thin = lvm.thin_pool(pool.volume_group, pool.thin_pool);
  if (!thin || thin->active) return thin;
  const auto cleared = lvm.clear_remains(pool.volume_group, pool.thin_pool);
  if (!cleared) return cleared.error();
  if (!*cleared && thin->promised != Bytes(0)) return thin;
  const auto activated = lvm.activate_thin_pool(pool.volume_group, pool.thin_pool);
  if (!activated) return activated.error();
  return lvm.thin_pool(pool.volume_group, pool.thin_pool);
}

}  // namespace

Status activate_with_node(const LvParts& parts, const LogicalVolume& volume) {
  if (auto active = parts.lvm.activate(volume); !active) return active;
  const auto uuid = parts.devices.mapper_uuid(device_path(volume.group, volume.name));
  if (uuid || uuid.error().code() != ErrorCode::kNotFound) return {};
  const auto made = parts.lvm.make_node(volume);
  return made ? Status() : uuid.error().context(made.error().message());
}

Status check_idle(const LogicalVolume& volume) {
  const std::string lv = concat("logical volume ", volume.group, '/', volume.name);
  if (volume.open) return Error(ErrorCode::kBusy, concat(lv, " is in use and is not removed yet"));
  if (!volume.has_snapshots) return {};
  return Error(ErrorCode::kBusy,
               concat(lv,
                      " has a snapshot, which would go with it: remove the snapshot first "
                      "(`lvs -o lv_name,origin ",
                      volume.group, "`)"));
}

Result<bool> is_half_made(const LvParts& parts, const VolumeSpec& spec,
                          const LogicalVolume& volume) {
  if (volume.active || volume.ownership->ready) return false;
  const auto record = parts.records.load(spec.name);
  if (!record) return record.error();
  if (*record && (*record)->state >= RecordState::kReady) return false;
  return parts.lvm.is_half_made(volume);
}

Status check_device(const LvParts& parts, const LogicalVolume& volume, const std::string& device) {
  auto uuid = parts.devices.mapper_uuid(device);
  if (!volume.active || (!uuid && uuid.error().code() == ErrorCode::kNotFound)) {
    if (auto up = activate_with_node(parts, volume); !up) return up;
    uuid = parts.devices.mapper_uuid(device);
  }
  if (!uuid) return uuid.error();
  if (*uuid == volume.device_uuid) return {};
  return Error(ErrorCode::kCorrupt,
               concat(device, " is not the device of logical volume ", volume.group, '/',
                      volume.name, "; compare `dmsetup info` with `lvs -o+lv_uuid`"));
}

Status check_thin_room(Lvm& lvm, const std::string& pool_name, const Pool& pool, Bytes more) {
  if (pool.thin_pool.empty())
    return Error(ErrorCode::kInvalid,
                 concat("pool \"", pool_name,
                        "\" has no thin-pool in node.conf, so that it has no thin volumes"));
  const auto thin = active_thin_pool(lvm, pool);
  if (!thin) return thin.error().context(concat("pool \"", pool_name, '"'));
  auto room = check_promise(*thin, pool, more);
  if (!room) return room.error().context(concat("pool \"", pool_name, '"'));
  return {};
}

Error explain_lack(Lvm& lvm, const std::string& pool_name, const Pool& pool, Bytes size,
                   Bytes taken, const Error& error) {
  const auto group = lvm.group(pool.volume_group);
  if (!group) return group.error().context(concat("pool \"", pool_name, '"'));
  const std::string name = name_of(pool_name, pool);
  const Bytes needed =
      cost(pool.layout, size, group->extent) - cost(pool.layout, taken, group->extent);
  if (group->free < needed)
    return Error(ErrorCode::kNoSpace,
                 concat(name, " has ", to_string(group->free), " free, ", to_string(needed),
                        needed == size ? "" : " more", " asked"));
  if (taken.count() != 0) return error;
  return lack_on_disks(lvm, name, pool, size, group->extent, error);
}

}  // namespace flexlocal::engine
