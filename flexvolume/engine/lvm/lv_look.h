// Looks into a logical volume that is to be removed only where nothing is in it.
#pragma once

#include "flexvolume/base/lock.h"
#include "flexvolume/engine/lvm/lv_parts.h"

namespace flexlocal::engine {

class LvLook {
 public:
  // `lock`: the volume's, which is held.
  LvLook(const LvParts& parts, const FileLock& lock) : parts_(parts), lock_(lock) {}

  // See VolumeBackend::is_empty. `volume` is proven ours. kBusy also while it has a snapshot.
  Result<bool> is_empty(const VolumeSpec& spec, const LogicalVolume& volume);

 private:
  Status prepare(const VolumeSpec& spec, const LogicalVolume& volume, const std::string& device);
  Result<bool> was_complete(const VolumeSpec& spec, const LogicalVolume& volume);
  Result<bool> has_files(const VolumeSpec& spec, const std::string& device, FsType type);

  LvParts parts_;
  const FileLock& lock_;
};

}  // namespace flexlocal::engine
