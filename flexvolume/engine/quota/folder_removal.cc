#include "flexvolume/engine/quota/folder_removal.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>

#include "flexvolume/base/folder.h"
#include "flexvolume/base/hex.h"
#include "flexvolume/base/random.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

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
  auto folder = open_folder_in(heap, name, O_RDONLY | O_NOATIME, name);
  if (!folder) return folder;
  const auto above = mount_id(heap);
  if (!above) return above.error();
  const auto here = mount_id(*folder);
  if (!here) return here.error();
  if (*above != *here)
    return Error(ErrorCode::kBusy, "something is mounted in the volume; unmount it first");
  return folder;
}

// chattr's "immutable" and "append only" stop root, too; a folder that hands its project on takes
// in none of another project.
constexpr unsigned kHinder = FS_XFLAG_IMMUTABLE | FS_XFLAG_APPEND | FS_XFLAG_PROJINHERIT;

// Where it does not help, the removal that is tried again says why.
void change_attributes(int fd, void (*change)(fsxattr& attributes)) {
  fsxattr attributes{};
  if (::ioctl(fd, FS_IOC_FSGETXATTR, &attributes) != 0) return;
  change(attributes);
  (void)::ioctl(fd, FS_IOC_FSSETXATTR, &attributes);
}

void clear_flags(int fd) {
  change_attributes(fd, [](fsxattr& attributes) { attributes.fsx_xflags &= ~kHinder; });
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

// A name that nobody can have given to something of theirs.
Result<std::string> random_name() {
  const auto bytes = random_bytes(16);
  return bytes ? to_hex(*bytes) : Result<std::string>(bytes.error());
}

// Empties one heap. What a full file system does not let it do is passed over as long as anything
// else can be removed, which makes room.
class Sweep {
 public:
  Sweep(const UniqueFd& heap, const std::function<bool()>& is_late)
      : heap_(heap), is_late_(is_late) {}

  // Until there is nothing; false when it is late.
  Result<bool> run() {
    for (;;) {
      left_ = 0;
      removed_ = false;
      auto passed = empty(heap_);
      if (!passed || !*passed || left_ == 0) return passed;
      if (!removed_) return stuck_.value_or(Error(ErrorCode::kBusy, "a folder does not get empty"));
    }
  }

 private:
  // Every entry of a folder once. In the heap itself folders stay where they are, and are gone
  // into.
  Result<bool> empty(const UniqueFd& folder) {
    const bool in_heap = &folder == &heap_;
    const auto listing = list_folder(folder);
    if (!listing) return listing.error();
    while (const dirent* entry = next_entry(*listing)) {
      if (is_late_()) return false;
      const std::string name = entry->d_name;
      const int why = remove_entry(folder, name.c_str());
      if (why == 0) continue;
      ++left_;
      if (lacks_room(why)) {
        stuck_ = Error::from_errno(why, concat("removing ", printable(name, 80)));
        continue;
      }
      if (!is_filled(why)) return Error::from_errno(why, concat("removing ", printable(name, 80)));
      auto gone = in_heap ? enter(name.c_str()) : move_up(folder, name.c_str());
      if (!gone || !*gone) return gone;
    }
    if (errno != 0) return Error::from_errno(errno, "listing a folder");
    return true;
  }

  Result<bool> enter(const char* name) {
    const auto folder = open_below(heap_, name);
    if (!folder) return folder.error();
    auto emptied = empty(*folder);
    if (!emptied || !*emptied) return emptied;
    // It may have something in it still: then the next pass comes back to it.
    const int why = remove_entry(heap_, name);
    if (why == 0 || is_filled(why) || lacks_room(why)) return true;
    return Error::from_errno(why, concat("removing ", printable(name, 80)));
  }

  Result<bool> move_up(const UniqueFd& folder, const char* name) {
    const auto new_name = random_name();
    if (!new_name) return new_name.error();
    for (const bool cleared : {false, true}) {
      if (::renameat2(folder.get(), name, heap_.get(), new_name->c_str(), RENAME_NOREPLACE) == 0) {
        removed_ = true;
        return true;
      }
      if (cleared || (errno != EPERM && errno != EXDEV)) break;
      clear_flags_of(folder, name);
    }
    const int why = errno;
    stuck_ = Error::from_errno(why, concat("moving ", printable(name, 80)));
    return lacks_room(why) ? go_down(folder, name) : *stuck_;
  }

  // Where there is no room for one more name in the heap: removes what is in the first folder on
  // the way down that has something to remove, which makes room. The bottom always has. Only one
  // folder is open at a time, however deep that is.
  Result<bool> go_down(const UniqueFd& parent, const char* first) {
    auto folder = open_below(parent, first);
    for (;;) {
      if (!folder) return folder.error();
      const auto listing = list_folder(*folder);
      if (!listing) return listing.error();
      bool removed = false;
      std::string filled;
      while (const dirent* entry = next_entry(*listing)) {
        if (is_late_()) return false;
        const std::string name = entry->d_name;
        const int why = remove_entry(*folder, name.c_str());
        if (why == 0) removed = true;
        if (is_filled(why)) filled = name;
        if (why != 0 && !is_filled(why) && !lacks_room(why))
          return Error::from_errno(why, concat("removing ", printable(name, 80)));
      }
      if (errno != 0) return Error::from_errno(errno, "listing a folder");
      if (removed || filled.empty()) return true;
      auto below = open_below(*folder, filled.c_str());
      folder = std::move(below);
    }
  }

  static bool is_filled(int why) { return why == ENOTEMPTY || why == EEXIST; }
  static bool lacks_room(int why) { return why == ENOSPC || why == EDQUOT; }

  // 0, or why it is still there.
  int remove_entry(const UniqueFd& folder, const char* name) {
    int why = unlink_entry(folder, name);
    if (why == EPERM) {
      clear_flags_of(folder, name);
      why = unlink_entry(folder, name);
    }
    if (why == 0) removed_ = true;
    return why;
  }

  static int unlink_entry(const UniqueFd& folder, const char* name) {
    if (::unlinkat(folder.get(), name, 0) == 0 || errno == ENOENT) return 0;
    if (errno != EISDIR) return errno;
    if (::unlinkat(folder.get(), name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
    return errno;
  }

  const UniqueFd& heap_;
  const std::function<bool()>& is_late_;
  std::size_t left_ = 0;  // folders that this pass found and could not remove at once
  bool removed_ = false;  // whether this pass changed anything
  std::optional<Error> stuck_;
};

}  // namespace

void unlock_folder(const UniqueFd& folder) { clear_flags(folder.get()); }

void leave_project(const UniqueFd& folder) {
  change_attributes(folder.get(), [](fsxattr& attributes) {
    attributes.fsx_xflags &= ~kHinder;
    attributes.fsx_projid = 0;
  });
}

Result<bool> empty_heap(const UniqueFd& heap, const std::function<bool()>& is_late) {
  leave_project(heap);
  return Sweep(heap, is_late).run();
}

}  // namespace flexlocal::engine
