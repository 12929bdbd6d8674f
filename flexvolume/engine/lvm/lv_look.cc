#include "flexvolume/engine/lvm/lv_look.h"

#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/rollback_guard.h"
#include "flexvolume/engine/lvm/suspension.h"

namespace flexlocal::engine {
namespace {

Error damaged(const std::string& device, std::string_view how) {
  return Error(ErrorCode::kCorrupt, concat(device, ' ', how));
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
  const auto content = parts_.filesystems.probe(device, type, spec.name.claim_uid());
  if (!content) return content.error();
  if (*content == Content::kForeign) return damaged(device, "has another file system than its own");
  if (*content == Content::kComplete) {
    const auto files = has_files(spec, device, type);
    return files ? Result<bool>(!*files) : files;
  }
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
  if (!files && may_be_damaged(files.error())) return damaged(device, files.error().message());
  if (!files || *files || type != FsType::kExt4) return files;
  if (auto whole = check_errors(device); !whole) return whole.error();
  return false;
}

// ext4 leaves out of a folder what it cannot read, and notes that it has met an error.
Status LvLook::check_errors(const std::string& device) {
  const auto start = parts_.devices.read(device, Bytes(0), kSuperblockBytes);
  if (!start) return start.error();
  if (!has_ext4_errors(*start)) return {};
  return damaged(device, "has an ext4 with errors; look at it with `e2fsck -n`");
}

}  // namespace flexlocal::engine
