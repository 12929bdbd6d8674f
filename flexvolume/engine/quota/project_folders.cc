#include "flexvolume/engine/quota/project_folders.h"

#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cerrno>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr const char* kMark = "trusted.flexlocal";
constexpr std::size_t kMostMark = 4096;

// linux/quota.h; glibc's sys/quota.h knows users and groups only.
constexpr unsigned kProjectQuota = 2;

// XFS counts blocks of quotas in 512 bytes, whatever its own block size is (man quotactl).
Bytes from_basic_blocks(std::uint64_t blocks) {
  return blocks > UINT64_MAX / 512 ? Bytes(UINT64_MAX) : Bytes(blocks * 512);
}

// The line of `id`, or of the next higher id that has one. Nothing: there is none.
Result<std::optional<ProjectQuota>> read_quota(unsigned command, const std::string& device,
                                               std::uint32_t id) {
  fs_disk_quota line{};
  if (::quotactl(static_cast<int>(QCMD(command, kProjectQuota)), device.c_str(),
                 static_cast<int>(id), reinterpret_cast<char*>(&line)) != 0) {
    if (errno == ENOENT) return std::optional<ProjectQuota>();
    if (errno == ESRCH || errno == ENOSYS)
      return Error(ErrorCode::kInvalid,
                   concat("project quotas are not in force on ", device, "; mount its file system ",
                          "with the option prjquota"));
    return Error::from_errno(errno, concat("reading a project's quota on ", device));
  }
  return std::optional(ProjectQuota{.id = line.d_id,
                                    .limit = from_basic_blocks(line.d_blk_hardlimit),
                                    .used = from_basic_blocks(line.d_bcount),
                                    .inode_limit = line.d_ino_hardlimit,
                                    .inodes = line.d_icount});
}

}  // namespace

Result<FolderProject> KernelProjectFolders::project(const UniqueFd& folder) {
  fsxattr attributes{};
  if (::ioctl(folder.get(), FS_IOC_FSGETXATTR, &attributes) != 0)
    return Error::from_errno(errno, "reading a folder's project");
  return FolderProject{attributes.fsx_projid, (attributes.fsx_xflags & FS_XFLAG_PROJINHERIT) != 0,
                       (attributes.fsx_xflags & FS_XFLAG_NODUMP) != 0};
}

Status KernelProjectFolders::set_kept(const UniqueFd& folder, bool kept) {
  fsxattr attributes{};
  if (::ioctl(folder.get(), FS_IOC_FSGETXATTR, &attributes) != 0)
    return Error::from_errno(errno, "reading a folder's flags");
  constexpr unsigned kFlag = FS_XFLAG_NODUMP;
  const unsigned wanted = kept ? attributes.fsx_xflags | kFlag : attributes.fsx_xflags & ~kFlag;
  if (wanted == attributes.fsx_xflags) return {};
  attributes.fsx_xflags = wanted;
  if (::ioctl(folder.get(), FS_IOC_FSSETXATTR, &attributes) != 0)
    return Error::from_errno(errno, "writing a folder's flags");
  return {};
}

Result<std::optional<std::string>> KernelProjectFolders::mark(const UniqueFd& folder) {
  std::string text(kMostMark, '\0');
  const ssize_t length = ::fgetxattr(folder.get(), kMark, text.data(), text.size());
  if (length < 0 && errno == ENODATA) return std::optional<std::string>();
  if (length < 0) return Error::from_errno(errno, concat("reading a folder's ", kMark));
  text.resize(static_cast<std::size_t>(length));
  return std::optional(std::move(text));
}

Status KernelProjectFolders::set_mark(const UniqueFd& folder, std::string_view text) {
  if (::fsetxattr(folder.get(), kMark, text.data(), text.size(), 0) != 0)
    return Error::from_errno(errno, concat("writing a folder's ", kMark));
  return {};
}

Result<ProjectQuota> KernelProjectFolders::quota(const std::string& device, std::uint32_t id) {
  const auto found = read_quota(Q_XGETQUOTA, device, id);
  if (!found) return found.error();
  return *found ? **found : ProjectQuota{.id = id, .limit = {}, .used = {}};
}

Result<std::vector<ProjectQuota>> KernelProjectFolders::quotas(const std::string& device) {
  std::vector<ProjectQuota> all;
  for (std::uint32_t next = 0;; next = all.back().id + 1) {
    const auto found = read_quota(Q_XGETNEXTQUOTA, device, next);
    if (!found) return found.error();
    if (!*found) return all;
    all.push_back(**found);
    if (all.back().id == UINT32_MAX) return all;
  }
}

Status KernelProjectFolders::check_device(const std::string& device, std::string_view number) {
  struct stat status {};
  if (::stat(device.c_str(), &status) != 0)
    return Error::from_errno(errno, concat("looking at ", device));
  if (S_ISBLK(status.st_mode) &&
      concat(major(status.st_rdev), ':', minor(status.st_rdev)) == number)
    return {};
  return Error(ErrorCode::kInvalid, concat(device, " is not the block device ", number,
                                           ", whose file system is mounted"));
}

Result<Capacity> KernelProjectFolders::capacity(const UniqueFd& folder) {
  struct statfs status {};
  if (::fstatfs(folder.get(), &status) != 0)
    return Error::from_errno(errno, "reading a file system's size");
  const auto block = static_cast<std::uint64_t>(status.f_bsize);
  return Capacity{Bytes(status.f_blocks * block), Bytes(status.f_bfree * block), Bytes(block)};
}

}  // namespace flexlocal::engine
