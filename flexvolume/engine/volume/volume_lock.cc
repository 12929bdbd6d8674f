#include "flexvolume/engine/volume/volume_lock.h"

#include <functional>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

// kubelet repeats a failed call, so waiting for ever gains nothing; mkfs of the same volume may
// take its time, though.
constexpr auto kVolumeDeadline = std::chrono::seconds(90);
constexpr auto kGroupDeadline = std::chrono::seconds(90);
// Somewhat longer than whoever has it may take: see rollback_guard.cc.

// The folder is there from the second call on, so it is made only when it is missed.
Result<FileLock> acquire(const std::string& folder, const std::string& name,
                         std::chrono::seconds deadline) {
  const std::string path = concat(folder, '/', name);
  auto lock = FileLock::acquire(path, deadline);
  if (lock || lock.error().code() != ErrorCode::kNotFound) return lock;
  if (auto made = make_folders(folder); !made) return made.error();
  return FileLock::acquire(path, deadline);
}

}  // namespace

Result<FileLock> lock_volume(const std::string& folder, const VolumeName& name) {
  return acquire(folder, concat("volume-", name.text()), kVolumeDeadline);
}

Result<FileLock> lock_pool(const std::string& folder, const std::string& pool) {
  return acquire(folder, concat("pool-", pool), kVolumeDeadline);
}

Result<FileLock> lock_volume_group(const std::string& folder, const std::string& group) {
  return acquire(folder, concat("group-", group), kGroupDeadline);
}

Result<FileLock> lock_disks(const std::string& folder, const std::string& group,
                            const std::vector<std::string>& disks, std::chrono::seconds deadline) {
  std::string all;
  for (const std::string& disk : disks) all += disk + '\n';
  return acquire(folder, concat("disks-", group, '-', std::hash<std::string>()(all)), deadline);
}

Result<FileLock> try_lock_volume_group(const std::string& folder, const std::string& group) {
  return acquire(folder, concat("group-", group), std::chrono::seconds(0));
}

}  // namespace flexlocal::engine
