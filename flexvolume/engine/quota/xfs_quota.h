// The program xfs_quota: sets what ProjectFolders reads. It ends with exit code 0 after most of its
// failures, so that only reading back tells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flexvolume/base/program.h"
#include "flexvolume/engine/host/tools.h"

namespace flexlocal::engine {

struct ProjectLimit {
  std::uint32_t id = 0;
  Bytes size;                // 0: none
  std::uint64_t inodes = 0;  // 0: none
};

class XfsQuota {
 public:
  XfsQuota(CommandRunner& runner, const Tools& tools) : runner_(runner), tools_(tools) {}

  // Makes `folder` and what is in it part of the project, and limits the project. `mount_point`:
  // of the file system. Paths are the host's and hold no space or quote. The program inherits
  // `locks`, so that others wait for it even when this process is killed.
  Status set(const std::string& mount_point, const std::string& folder, const ProjectLimit& limit,
             const std::vector<int>& locks);

  // Only the limit.
  Status set(const std::string& mount_point, const ProjectLimit& limit,
             const std::vector<int>& locks);

 private:
  Status run(const std::string& mount_point, const std::vector<std::string>& commands,
             const std::vector<int>& locks);

  CommandRunner& runner_;
  const Tools& tools_;
};

}  // namespace flexlocal::engine
