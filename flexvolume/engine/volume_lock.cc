#include "flexvolume/engine/volume_lock.h"

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

// kubelet repeats a failed call, so waiting for ever gains nothing; mkfs of the same volume may
// take its time, though.
constexpr auto kVolumeDeadline = std::chrono::seconds(90);
constexpr auto kGroupDeadline = std::chrono::seconds(90);

}  // namespace

Result<FileLock> lock_volume(const std::string& folder, const VolumeName& name) {
  if (auto made = make_folders(folder); !made) return made.error();
  return FileLock::acquire(concat(folder, "/volume-", name.text()), kVolumeDeadline);
}

Result<FileLock> lock_volume_group(const std::string& folder, const std::string& group) {
  if (auto made = make_folders(folder); !made) return made.error();
  return FileLock::acquire(concat(folder, "/group-", group), kGroupDeadline);
}

}  // namespace flexlocal::engine
