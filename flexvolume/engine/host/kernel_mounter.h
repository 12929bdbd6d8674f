// Mounter on the running kernel.
#pragma once

#include "flexvolume/engine/host/mount_table.h"

namespace flexlocal::engine {

class KernelMounter final : public Mounter {
 public:
  // `table`: whose mounts are listed; a daemon in a pod looks at those of the host's process 1.
  explicit KernelMounter(std::string table = "/proc/self/mountinfo") : table_(std::move(table)) {}

  Result<std::vector<MountEntry>> table() override;
  Status mount(const MountSource& source, const MountFlags& flags,
               const MountPoint& point) override;
  Status unmount(const std::string& top) override;
  Result<bool> has_files(const MountSource& source, const FileLock& lock) override;

 private:
  std::string table_;
};

}  // namespace flexlocal::engine
