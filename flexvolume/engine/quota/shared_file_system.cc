#include "flexvolume/engine/quota/shared_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "flexvolume/base/folder.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr const char* kBase = ".flexlocal";
constexpr auto kLockDeadline = std::chrono::seconds(90);

const char* name_of(Area area) {
  switch (area) {
    case Area::kVolumes:
      return "volumes";
    case Area::kNew:
      return "new";
    case Area::kTrash:
      return "trash";
  }
  return "volumes";
}

// Links are refused: nothing of ours is one.
Result<UniqueFd> open_below(const UniqueFd& parent, const std::string& name) {
  return open_folder_in(parent, name, O_RDONLY, name);
}

// mkdir with mode 0700, synced, unless it is there already.
Result<UniqueFd> make_below(const UniqueFd& parent, const std::string& name) {
  auto there = open_below(parent, name);
  if (there || there.error().code() != ErrorCode::kNotFound) return there;
  if (::mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
    return Error::from_errno(errno, concat("making folder ", name));
  if (::fsync(parent.get()) != 0) return Error::from_errno(errno, concat("syncing above ", name));
  return open_below(parent, name);
}

Status check_ours_alone(const UniqueFd& base) {
  struct stat status {};
  if (::fstat(base.get(), &status) != 0) return Error::from_errno(errno, "looking at .flexlocal");
  if (status.st_uid == ::geteuid() && (status.st_mode & 0077U) == 0) return {};
  return Error(ErrorCode::kDenied,
               "folder .flexlocal on it is open to others than root, so that it is not "
               "flexlocal's; rename it if nobody needs it");
}

}  // namespace

Result<SharedMount> find_shared_mount(const std::vector<MountEntry>& table,
                                      const std::string& path) {
  const auto there = mounts_at(table, path);
  if (there.empty())
    return Error(ErrorCode::kUnavailable,
                 concat("nothing is mounted at ", path,
                        "; mount the pool's XFS there, with the option prjquota"));
  const MountEntry& top = there.back();
  if (top.fs_type != "xfs")
    return Error(ErrorCode::kInvalid, concat(path, " is of type ", top.fs_type,
                                             "; backend quota needs an XFS there, mounted with "
                                             "the option prjquota"));
  if (top.root != "/")
    return Error(ErrorCode::kInvalid,
                 concat(path, " shows only the folder ", printable(top.root),
                        " of a file system; name where the whole of it is mounted"));
  if (!has_option(top.super_options, "prjquota"))
    return Error(ErrorCode::kInvalid,
                 concat("the XFS at ", path,
                        " is mounted without prjquota, so that no volume on it would be limited; "
                        "add prjquota to its options in /etc/fstab, unmount it and mount it again "
                        "(a remount does not switch it on)"));
  return SharedMount{path, top.source, top.device};
}

Result<SharedFileSystem> SharedFileSystem::open(SharedMount mount, const std::string& root) {
  const auto top = open_file(root + mount.path, O_RDONLY | O_DIRECTORY);
  if (!top) return top.error();
  std::string device = root + mount.source;
  SharedFileSystem opened(std::move(mount), std::move(device));
  auto base = make_below(*top, kBase);
  if (!base) return base.error();
  if (auto ours = check_ours_alone(*base); !ours) return ours.error();
  opened.base_ = std::move(*base);
  for (const auto& [area, into] : {std::pair{Area::kVolumes, &opened.volumes_},
                                   {Area::kNew, &opened.new_},
                                   {Area::kTrash, &opened.trash_}}) {
    auto folder = make_below(opened.base_, name_of(area));
    if (!folder) return folder.error();
    *into = std::move(*folder);
  }
  return opened;
}

const UniqueFd& SharedFileSystem::area(Area area) const {
  return area == Area::kVolumes ? volumes_ : area == Area::kNew ? new_ : trash_;
}

Result<FileLock> SharedFileSystem::lock() const {
  return FileLock::acquire(descriptor_path(base_) + "/lock", kLockDeadline);
}

std::string SharedFileSystem::counter_path() const {
  return descriptor_path(base_) + "/next-project-id";
}

std::string SharedFileSystem::path_in(Area area, std::string_view name) {
  return concat('/', kBase, '/', name_of(area), '/', name);
}

std::string SharedFileSystem::host_path(Area area, std::string_view name) const {
  return mount_.path + path_in(area, name);
}

Result<std::vector<std::string>> SharedFileSystem::names(Area area) const {
  const auto listing = list_folder(this->area(area));
  if (!listing) return listing.error();
  std::vector<std::string> found;
  while (const dirent* entry = next_entry(*listing))
    if (entry->d_name[0] != '.') found.emplace_back(entry->d_name);
  if (errno != 0) return Error::from_errno(errno, "listing volumes");
  return found;
}

Result<UniqueFd> SharedFileSystem::open_folder(Area area, std::string_view name) const {
  auto folder = open_below(this->area(area), std::string(name));
  if (!folder) return folder.error().context(host_path(area, name));
  return folder;
}

Status SharedFileSystem::move(Area from, const std::string& name, const UniqueFd& to,
                              const std::string& new_name) {
  if (::renameat2(area(from).get(), name.c_str(), to.get(), new_name.c_str(), RENAME_NOREPLACE) !=
      0)
    return Error::from_errno(errno, concat("moving ", host_path(from, name)));
  if (auto synced = sync(to); !synced) return synced;
  return sync(area(from));
}

Status SharedFileSystem::sync(const UniqueFd& folder) const {
  if (::fsync(folder.get()) != 0)
    return Error::from_errno(errno, concat("syncing on ", mount_.path));
  return {};
}

}  // namespace flexlocal::engine
