// What the kernel knows of folders with a project quota, read without starting a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/fd.h"
#include "flexvolume/base/result.h"

namespace flexlocal::engine {

// Which project a folder belongs to, and whether what is made in it will, too.
struct FolderProject {
  std::uint32_t id = 0;
  bool inherited = false;
  bool kept = false;  // see ProjectFolders::set_kept
};

// One line of a file system's quota table.
struct ProjectQuota {
  std::uint32_t id = 0;
  Bytes limit;  // hard; 0: none
  Bytes used;
  std::uint64_t inode_limit = 0;  // hard; 0: none
  std::uint64_t inodes = 0;

  bool is_empty() const {
    return limit.count() == 0 && used.count() == 0 && inode_limit == 0 && inodes == 0;
  }
};

// A file system as a whole.
struct Capacity {
  Bytes size;
  Bytes free;
  Bytes block;  // limits are whole multiples of it
};

// The interface to them, so that a test can stand in. Folders are open for reading (not O_PATH).
class ProjectFolders {
 public:
  virtual ~ProjectFolders() = default;

  virtual Result<FolderProject> project(const UniqueFd& folder) = 0;

  // The mark is what a folder says of itself: the extended attribute trusted.flexlocal, which
  // nobody without CAP_SYS_ADMIN can read or write (man xattr). Nothing: it has none.
  virtual Result<std::optional<std::string>> mark(const UniqueFd& folder) = 0;
  virtual Status set_mark(const UniqueFd& folder, std::string_view text) = 0;

  // Whether the folder's volume is retained, by a flag of its inode that nothing else here uses
  // (FS_XFLAG_NODUMP): a word in the mark could take a block, of which a full volume has none.
  // Whoever owns the folder can set it, too, and so keep what is theirs.
  virtual Status set_kept(const UniqueFd& folder, bool kept) = 0;

  // `device`: path of the block device underneath. An id without a line has an empty quota.
  virtual Result<ProjectQuota> quota(const std::string& device, std::uint32_t id) = 0;
  // All lines, ascending.
  virtual Result<std::vector<ProjectQuota>> quotas(const std::string& device) = 0;

  // Whether `device` is the block device with this number ("253:4"), by whatever name it is known:
  // a path of the mount table may lead to another device by now.
  virtual Status check_device(const std::string& device, std::string_view number) = 0;

  // Of the file system the folder is on. The folder's own project must have no limit: XFS then
  // shows the limit instead.
  virtual Result<Capacity> capacity(const UniqueFd& folder) = 0;
};

class KernelProjectFolders final : public ProjectFolders {
 public:
  Result<FolderProject> project(const UniqueFd& folder) override;
  Result<std::optional<std::string>> mark(const UniqueFd& folder) override;
  Status set_mark(const UniqueFd& folder, std::string_view text) override;
  Status set_kept(const UniqueFd& folder, bool kept) override;
  Result<ProjectQuota> quota(const std::string& device, std::uint32_t id) override;
  Result<std::vector<ProjectQuota>> quotas(const std::string& device) override;
  Status check_device(const std::string& device, std::string_view number) override;
  Result<Capacity> capacity(const UniqueFd& folder) override;
};

}  // namespace flexlocal::engine
