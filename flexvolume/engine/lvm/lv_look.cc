#include "flexvolume/engine/lvm/lv_look.h"

#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/rollback_guard.h"
#include "flexvolume/engine/lvm/suspension.h"

namespace flexlocal::engine {
namespace {

Error damaged(const std::string& device, std::string_view how) {
  return Error(ErrorCode::kCorrupt, concat(device, ' ', how));
}

// EINVAL, EUCLEAN, EBADMSG. What the disk could not do now it may do at the next look.
bool shows_damage(const Error& failed_mount) {
  return failed_mount.code() == ErrorCode::kInvalid || failed_mount.code() == ErrorCode::kCorrupt;
}

}  // namespace

Result<bool> LvLook::is_empty(const VolumeSpec& spec, const LogicalVolume& volume) {
  if (auto idle = check_idle(volume); !idle) return idle.error();
  Resumer resumer(parts_);
  const auto resumed =
      resumer.resume(volume.group, spec.name, volume.device_uuid, volume.thin_pool);
  if (!resumed) return resumed.error();
  const auto half_made = is_half_made(parts_, spec, volume);
  if (!half_made || *half_made) return half_made;
  if (auto mended = resumer.mend_size(volume); !mended) return mended.error();
  const std::string device = device_path(volume.group, volume.name);
  if (auto prepared = prepare(spec, volume, device); !prepared) return prepared.error();
  const FsType type = volume.ownership->fs_type;
  // First, for it is done by a child, which a disk that does not answer may keep.
  const auto files = has_files(spec, device, type);
  if (!files && !shows_damage(files.error())) return files;
  const auto content = parts_.filesystems.probe(device, type, spec.name.claim_uid());
  if (!content) return content.error();
  if (*content == Content::kForeign) return damaged(device, "has another file system than its own");
  if (files && *content == Content::kComplete) return !*files;
  if (!files && *content == Content::kComplete) return damaged(device, files.error().message());
  const auto complete = was_complete(spec, volume);
  if (!complete) return complete;
  if (*complete) return damaged(device, "has lost its file system");
  return true;
}

// A mount may write a log back, which must not come to stand on another volume's blocks.
Status LvLook::prepare(const VolumeSpec& spec, const LogicalVolume& volume,
                       const std::string& device) {
  if (auto current = RollbackGuard(parts_).check_volume(volume.group, spec.name); !current)
    return current;
  return check_device(parts_, volume, device);
}

// Record and tags may each be of before the other.
Result<bool> LvLook::was_complete(const VolumeSpec& spec, const LogicalVolume& volume) {
  if (volume.ownership->ready) return true;
  const auto record = parts_.records.load(spec.name);
  if (!record) return record.error();
  return *record && (*record)->state >= RecordState::kReady;
}

Result<bool> LvLook::has_files(const VolumeSpec& spec, const std::string& device, FsType type) {
  // As for a pod: without its option, XFS counts its quotas anew at the next mount.
  const MountSource source{.device = device,
                           .fs_type = std::string(to_string(type)),
                           .data = mount_data(spec),
                           .folder = {},
                           .root = {}};
  const auto files = parts_.mounter.has_files(source, lock_);
  if (!files || *files || type != FsType::kExt4) return files;
  // It leaves out of a folder what it cannot read.
  const auto start = parts_.devices.read(device, Bytes(0), kSuperblockBytes);
  if (!start) return start.error();
  return !is_pristine_ext4(*start);
}

}  // namespace flexlocal::engine
