#include "flexvolume/engine/quota/folder_removal.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Listing = std::unique_ptr<DIR, CloseFolder>;

Error failed(std::string_view doing, const char* name) {
  return Error::from_errno(errno, concat(doing, ' ', printable(name, 80)));
}

// A mount over a folder leads elsewhere, which only its mount's number shows: a bind mount has the
// same device (man proc_pid_fdinfo).
Result<std::string> mount_id(const UniqueFd& folder) {
  const auto text = read_file(concat("/proc/self/fdinfo/", folder.get()), kKiB);
  if (!text) return text.error();
  for (const std::string_view line : split(*text, '\n'))
    if (line.starts_with("mnt_id:")) return std::string(line);
  return Error(ErrorCode::kFailed, "the kernel does not say which mount a folder is of");
}

Result<UniqueFd> open_below(const UniqueFd& heap, const char* name) {
  UniqueFd folder(
      ::openat(heap.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME));
  if (!folder.valid()) return failed("opening folder", name);
  const auto above = mount_id(heap);
  if (!above) return above.error();
  const auto here = mount_id(folder);
  if (!here) return here.error();
  if (*above != *here)
    return Error(ErrorCode::kBusy, "something is mounted in the volume; unmount it first");
  return folder;
}

Result<Listing> list(const UniqueFd& folder) {
  const int copy = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return Error::from_errno(errno, "opening a folder once more");
  Listing listing(::fdopendir(copy));
  if (listing == nullptr) {
    ::close(copy);
    return Error::from_errno(errno, "listing a folder");
  }
  ::rewinddir(listing.get());  // the copy shares its position with those before it
  return listing;
}

const dirent* next_entry(DIR* listing) {
  const dirent* entry = nullptr;
  do {
    errno = 0;
    entry = ::readdir(listing);
  } while (entry != nullptr &&
           (std::string_view(entry->d_name) == "." || std::string_view(entry->d_name) == ".."));
  return entry;
}

// chattr's "immutable" and "append only" stop root, too.
void clear_flags(int fd) {
  fsxattr attributes{};
  if (::ioctl(fd, FS_IOC_FSGETXATTR, &attributes) != 0) return;
  attributes.fsx_xflags &= ~static_cast<unsigned>(FS_XFLAG_IMMUTABLE | FS_XFLAG_APPEND);
  // Where it does not help, the removal that is tried again says why.
  (void)::ioctl(fd, FS_IOC_FSSETXATTR, &attributes);
}

void clear_flags_of(const UniqueFd& folder, const char* name) {
  clear_flags(folder.get());
  struct stat status {};
  if (::fstatat(folder.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return;
  const UniqueFd entry(
      ::openat(folder.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (entry.valid()) clear_flags(entry.get());
}

// Into the heap, under its inode's number: that is free, or is this very folder.
int move_up(const UniqueFd& folder, const char* name, const UniqueFd& heap) {
  struct stat status {};
  if (::fstatat(folder.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  return ::renameat(folder.get(), name, heap.get(), concat(status.st_ino).c_str());
}

// 0, or -1 with errno, as a system call.
int take_away(const UniqueFd& folder, const char* name, const UniqueFd& heap) {
  if (::unlinkat(folder.get(), name, 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR) return -1;
  if (::unlinkat(folder.get(), name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  if (errno != ENOTEMPTY && errno != EEXIST) return -1;
  return move_up(folder, name, heap);
}

Status remove_entry(const UniqueFd& folder, const char* name, const UniqueFd& heap) {
  if (take_away(folder, name, heap) == 0) return {};
  if (errno == EPERM) {
    clear_flags_of(folder, name);
    if (take_away(folder, name, heap) == 0) return {};
  }
  return failed("removing", name);
}

// True when nothing is left in it.
Result<bool> empty_folder(const UniqueFd& folder, const UniqueFd& heap,
                          const std::function<bool()>& is_late) {
  const auto listing = list(folder);
  if (!listing) return listing.error();
  while (const dirent* entry = next_entry(listing->get())) {
    if (is_late()) return false;
    if (auto removed = remove_entry(folder, entry->d_name, heap); !removed) return removed.error();
  }
  if (errno != 0) return Error::from_errno(errno, "listing a folder");
  return true;
}

Result<bool> remove_folder(const UniqueFd& heap, const char* name,
                           const std::function<bool()>& is_late) {
  const auto folder = open_below(heap, name);
  if (!folder) return folder.error();
  auto emptied = empty_folder(*folder, heap, is_late);
  if (!emptied || !*emptied) return emptied;
  if (::unlinkat(heap.get(), name, AT_REMOVEDIR) == 0) return true;
  if (errno == EPERM) clear_flags(folder->get());
  if (::unlinkat(heap.get(), name, AT_REMOVEDIR) == 0) return true;
  // A listing that changes while it is read may leave something out: then it is listed again.
  if (errno == ENOTEMPTY || errno == EEXIST) return true;
  return failed("removing", name);
}

}  // namespace

Result<bool> empty_heap(const UniqueFd& heap, const std::function<bool()>& is_late) {
  for (bool again = true; again;) {
    again = false;
    const auto listing = list(heap);
    if (!listing) return listing.error();
    while (const dirent* entry = next_entry(listing->get())) {
      if (is_late()) return false;
      const std::string name = entry->d_name;
      auto removed = remove_folder(heap, name.c_str(), is_late);
      if (!removed || !*removed) return removed;
      again = true;
    }
    if (errno != 0) return Error::from_errno(errno, "listing a folder");
  }
  return true;
}

}  // namespace flexlocal::engine
