#include "flexvolume/engine/lvm/lv_grower.h"

#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/rollback_guard.h"
#include "flexvolume/engine/lvm/suspension.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {

Status LvGrower::run(Bytes size) {
  if (size < spec_.size)
    return Error(ErrorCode::kInvalid, concat("the volume was made with ", to_string(spec_.size),
                                             " and cannot shrink to ", to_string(size)));
  auto record = load_record();
  if (!record) return record.error();
  const auto volume = find(*record);
  if (!volume) return volume.error();
  if (auto extended = extend_noted(*record, *volume, size); !extended) return extended;
  const auto mounts = find_mounts(device_path(volume->group, volume->name));
  if (!mounts) return mounts.error();
  if (!mounts->writable.empty()) return grow_file_system(std::move(*record), mounts->writable);
  if (mounts->none)
    if (auto hidden = check_not_hidden(); !hidden) return hidden;
  // The next mount, or the next look, completes it, whoever has extended the logical volume.
  if (record->grow_file_system) return {};
  record->grow_file_system = true;
  return parts_.records.save(*record);
}

// Through one that is read-only no file system grows; unmounted, neither XFS nor ext4 does without
// a check of its own first.
Result<LvGrower::Mounts> LvGrower::find_mounts(const std::string& device) const {
  const auto table = parts_.mounter.table();
  if (!table) return table.error();
  Mounts mounts;
  for (const MountEntry& entry : *table) {
    if (entry.source != device) continue;
    mounts.none = false;
    // A bind mount of a folder in it is none that the tools know.
    if (!entry.read_only && entry.root == "/") mounts.writable = entry.mount_point;
  }
  return mounts;
}

// A file system that is mounted where this process does not see it stays as small as it is, and
// nobody would finish it: that is not to be told as a volume that waits for its next mount.
Status LvGrower::check_not_hidden() const {
  const auto now = parts_.lvm.find_on(pool_.volume_group, spec_.name);
  if (!now) return now.error();
  if (!*now || !(*now)->open) return {};
  return Error(
      ErrorCode::kBusy,
      concat("logical volume ", pool_.volume_group, '/', spec_.name.text(),
             " has grown, but its device is in use where no mount of it is seen, so that its "
             "file system does not grow now; it does with the next mount"));
}

// A kill behind lvextend must not leave a file system that nobody knows to be behind.
Status LvGrower::extend_noted(Record& record, const LogicalVolume& volume, Bytes size) {
  const bool before = record.grow_file_system;
  if (volume.size < size && !before) {
    record.grow_file_system = true;
    if (auto saved = parts_.records.save(record); !saved) return saved;
  }
  auto extended = extend(volume, size);
  if (extended || record.grow_file_system == before) return extended;
  // What lvextend did before it failed is not known, so that only a clear refusal takes the note
  // back.
  if (extended.error().code() != ErrorCode::kNoSpace) return extended;
  record.grow_file_system = before;
  if (auto saved = parts_.records.save(record); !saved) return saved;
  return extended;
}

Status LvGrower::finish(Record record) {
  // The file system must not get what only a killed lvextend's table has, nor what the daemon would
  // take up meanwhile.
  const auto finished = Resumer(parts_).finish_if(
      record.volume_group, record.spec.name,
      [&](const LogicalVolume& volume) { return volume.device_uuid == record.device_uuid; });
  if (!finished) return finished.error();
  const auto mounts = find_mounts(device_path(record.volume_group, record.spec.name.text()));
  if (!mounts) return mounts.error();
  return mounts->writable.empty() ? Status()
                                  : grow_file_system(std::move(record), mounts->writable);
}

Status LvGrower::grow_file_system(Record record, const std::string& mount_point) {
  const std::string device = device_path(record.volume_group, record.spec.name.text());
  if (auto grown = parts_.filesystems.grow(device, record.spec.fs_type, mount_point); !grown)
    return grown;
  parts_.log.info("file system grown", {{"volume", spec_.name.text()}, {"device", device}});
  if (!record.grow_file_system) return {};
  record.grow_file_system = false;
  return parts_.records.save(record);
}

Result<Record> LvGrower::load_record() const {
  auto record = parts_.records.load(spec_.name);
  if (!record) return record.error();
  if (!*record || (*record)->state < RecordState::kReady)
    return Error(ErrorCode::kNotFound,
                 "the volume is not there yet, so it cannot grow: its first mount makes it");
  if ((*record)->state == RecordState::kWiping)
    return Error(ErrorCode::kDenied, "the volume is being removed and cannot grow");
  if (!is_of((*record)->spec, spec_) || (*record)->spec.size != spec_.size)
    return Error(ErrorCode::kDenied, "the volume on this node belongs to another claim");
  if ((*record)->volume_group != pool_.volume_group)
    return Error(
        ErrorCode::kInvalid,
        concat("the volume is on volume group \"", (*record)->volume_group, "\", but pool \"",
               spec_.pool, "\" is \"", pool_.volume_group, "\" now; correct node.conf"));
  return std::move(**record);
}

Result<LogicalVolume> LvGrower::find(const Record& record) const {
  auto found = parts_.lvm.find(record.volume_group, spec_.name);
  if (!found) return found.error();
  const std::string lv = concat(record.volume_group, '/', spec_.name.text());
  if (!*found)
    return Error(ErrorCode::kCorrupt,
                 concat("logical volume ", lv, " held data and is gone; is a disk missing?"));
  const bool ours = (*found)->ownership && owns(*(*found)->ownership, spec_) &&
                    (*found)->device_uuid == record.device_uuid;
  if (!ours)
    return Error(ErrorCode::kDenied, concat("logical volume ", lv,
                                            " is not extended: its tags or its uuid do not say "
                                            "that it is this claim's"));
  return std::move(**found);
}

Status LvGrower::extend(const LogicalVolume& volume, Bytes size) {
  const auto lock = lock_volume_group(parts_.locks, volume.group);
  if (!lock) return lock.error();
  Resumer resumer(parts_);
  // Over a table that a killed lvextend left, the next one would take up that, and say nothing.
  if (auto finished = resumer.finish(volume); !finished) return finished;
  if (volume.size >= size) return {};
  RollbackGuard guard(parts_);
  if (auto current = guard.check(volume.group); !current) return current;
  if (auto known = guard.check_open(volume); !known) return known;
  const std::string doing = concat("cannot grow volume ", volume.name, " to ", to_string(size));
  if (spec_.backend == Backend::kThin) {
    auto room = check_thin_room(parts_.lvm, spec_.pool, pool_, size - volume.size);
    if (!room) return room.error().context(doing);
  }
  const auto extended = parts_.lvm.extend(volume, size);
  const auto noted = guard.note(volume.group, extended);
  if (!extended) {
    if (auto finished = resumer.finish(volume); !finished)
      return extended.error().context(finished.error().message()).context(doing);
    if (spec_.backend == Backend::kThin) return extended.error().context(doing);
    return explain_lack(parts_.lvm, spec_.pool, pool_, size, volume.size, extended.error())
        .context(doing);
  }
  if (!noted) return noted.error().context(doing);
  if (auto has = check_extended(size); !has) return has.error().context(doing);
  parts_.log.info("logical volume extended", {{"volume", volume.name}, {"size", to_string(size)}});
  return {};
}

// lvextend is not taken at its word: what a pod gets is what the kernel has.
Status LvGrower::check_extended(Bytes size) {
  const auto now = parts_.lvm.find_on(pool_.volume_group, spec_.name);
  if (!now) return now.error();
  if (!*now || (*now)->size < size)
    return Error(ErrorCode::kFailed,
                 "lvextend reported success, and the logical volume is not larger; see `lvs`");
  return Resumer(parts_).finish(**now);
}

}  // namespace flexlocal::engine
