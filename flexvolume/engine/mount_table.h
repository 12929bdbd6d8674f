// Mounts: the table the kernel keeps, and the two calls that change it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/result.h"

namespace flexlocal::engine {

struct MountEntry {
  std::string device;       // "253:4", major and minor
  std::string mount_point;  // unescaped
  std::string fs_type;
  std::string source;
};

// /proc/<pid>/mountinfo (man proc_pid_mountinfo). A line that is not one is passed over: the
// kernel only adds optional fields.
std::vector<MountEntry> parse_mount_table(std::string_view text);

class Mounter {
 public:
  virtual ~Mounter() = default;
  virtual Result<std::vector<MountEntry>> table() = 0;
  // Mounts with nodev and nosuid, always.
  virtual Status mount(const std::string& device, const std::string& target,
                       const std::string& fs_type, const std::string& data) = 0;
  // Makes the mount at `target` read-only and leaves its file system's other mounts as they are.
  virtual Status make_read_only(const std::string& target) = 0;
  // kBusy while somebody uses it. Never lazy: a lazy unmount reports success while data still
  // flows.
  virtual Status unmount(const std::string& target) = 0;
};

class KernelMounter final : public Mounter {
 public:
  Result<std::vector<MountEntry>> table() override;
  Status mount(const std::string& device, const std::string& target, const std::string& fs_type,
               const std::string& data) override;
  Status make_read_only(const std::string& target) override;
  Status unmount(const std::string& target) override;
};

}  // namespace flexlocal::engine
