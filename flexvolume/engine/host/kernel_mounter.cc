#include "flexvolume/engine/host/kernel_mounter.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <cerrno>
#include <optional>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/folder.h"
#include "flexvolume/base/in_child.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/mount_reader.h"

namespace flexlocal::engine {
namespace {

// A class's option as the two kernel interfaces know it.
struct FlagWord {
  std::string_view text;
  std::uint64_t attribute;
  unsigned long flag;
};
constexpr FlagWord kFlagWords[] = {{"noatime", MOUNT_ATTR_NOATIME, MS_NOATIME},
                                   {"strictatime", MOUNT_ATTR_STRICTATIME, MS_STRICTATIME},
                                   {"relatime", MOUNT_ATTR_RELATIME, MS_RELATIME},
                                   {"nodiratime", MOUNT_ATTR_NODIRATIME, MS_NODIRATIME},
                                   {"noexec", MOUNT_ATTR_NOEXEC, MS_NOEXEC}};

struct KernelFlags {
  std::uint64_t attributes = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID;
  unsigned long flags = MS_NODEV | MS_NOSUID;
};

KernelFlags kernel_flags(const MountFlags& wanted) {
  KernelFlags out;
  if (wanted.read_only) {
    out.attributes |= MOUNT_ATTR_RDONLY;
    out.flags |= MS_RDONLY;
  }
  for (const std::string& option : wanted.options)
    for (const FlagWord& word : kFlagWords)
      if (word.text == option) {
        out.attributes |= word.attribute;
        out.flags |= word.flag;
      }
  return out;
}

std::string doing(const MountSource& source) {
  if (source.is_bind()) return concat("bind mount of ", source.folder);
  return concat("mount of ", source.device, " as ", source.fs_type);
}

Error failed(const MountSource& source) { return Error::from_errno(errno, doing(source)); }

// The new calls are of Linux 5.2 (fsopen, move_mount) and 5.12 (mount_setattr).
bool is_missing_call() { return errno == ENOSYS; }

// Nothing: this kernel cannot do it in this way.
using MaybeTree = std::optional<Result<UniqueFd>>;

Status configure(const UniqueFd& context, const MountSource& source) {
  if (::fsconfig(context.get(), FSCONFIG_SET_STRING, "source", source.device.c_str(), 0) != 0)
    return failed(source);
  for (const std::string_view option : split(source.data, ','))
    if (::fsconfig(context.get(), FSCONFIG_SET_FLAG, std::string(option).c_str(), nullptr, 0) != 0)
      return Error::from_errno(errno, concat(doing(source), ": option ", option));
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return failed(source);
  return {};
}

// A mount of the device's file system that is nowhere yet. Read-only is the mount's, never the file
// system's: the kernel has one superblock for all mounts of a device, and refuses a read-only one
// beside a writer's.
MaybeTree detached_file_system(const MountSource& source, const KernelFlags& flags) {
  const UniqueFd context(::fsopen(source.fs_type.c_str(), FSOPEN_CLOEXEC));
  if (!context.valid()) {
    if (is_missing_call()) return std::nullopt;
    return failed(source);
  }
  if (auto configured = configure(context, source); !configured) return configured.error();
  UniqueFd tree(::fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(flags.attributes)));
  if (!tree.valid()) return failed(source);
  return Result<UniqueFd>(std::move(tree));
}

MaybeTree detached_folder(const MountSource& source, const KernelFlags& flags) {
  UniqueFd tree(::open_tree(AT_FDCWD, source.folder.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree.valid()) {
    if (is_missing_call()) return std::nullopt;
    return failed(source);
  }
  mount_attr attributes{};
  attributes.attr_set = flags.attributes;
  // The kinds of access time are one field: to set one, it is cleared first (man mount_setattr).
  if ((flags.attributes & MOUNT_ATTR__ATIME) != 0) attributes.attr_clr = MOUNT_ATTR__ATIME;
  if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0) {
    if (is_missing_call()) return std::nullopt;
    return failed(source);
  }
  return Result<UniqueFd>(std::move(tree));
}

// For kernels without the new calls: two steps, undone when the second fails. A kill between them
// leaves a mount without its flags, which is why this is not the first choice.
Status mount_in_steps(const MountSource& source, const KernelFlags& flags,
                      const MountPoint& point) {
  const std::string& from = source.is_bind() ? source.folder : source.device;
  const unsigned long own = flags.flags & ~static_cast<unsigned long>(MS_RDONLY);
  const unsigned long first = source.is_bind() ? static_cast<unsigned long>(MS_BIND) : own;
  if (::mount(from.c_str(), point.folder.c_str(), source.fs_type.c_str(), first,
              source.data.c_str()) != 0)
    return failed(source);
  if (first == flags.flags) return {};
  if (::mount(nullptr, point.top.c_str(), nullptr, MS_BIND | MS_REMOUNT | flags.flags, nullptr) ==
      0)
    return {};
  const Error error = Error::from_errno(errno, concat(doing(source), ": setting its flags"));
  if (::umount2(point.top.c_str(), UMOUNT_NOFOLLOW) != 0)
    return error.context("left mounted, since it could not be unmounted");
  return error;
}

// A disk that does not answer holds nobody up for longer; a replayed log is at most 2 GiB.
constexpr ChildDeadlines kLookDeadlines{std::chrono::minutes(2), std::chrono::minutes(2)};
constexpr std::string_view kLostAndFound = "lost+found";  // mkfs.ext4 makes it

Result<bool> has_entries(const UniqueFd& tree, bool ext4) {
  const auto root = open_folder_in(tree, ".", O_RDONLY, "the root of the file system");
  if (!root) return root.error();
  const auto empty = is_empty_folder(*root, ext4 ? kLostAndFound : std::string_view());
  if (!empty || !*empty || !ext4) return empty ? Result<bool>(!*empty) : empty;
  const auto lost = open_folder_in(*root, std::string(kLostAndFound), O_RDONLY, kLostAndFound);
  if (!lost && lost.error().code() == ErrorCode::kNotFound) return false;
  const auto none_lost = lost ? is_empty_folder(*lost) : Result<bool>(lost.error());
  return none_lost ? Result<bool>(!*none_lost) : none_lost;
}

Result<bool> look_into(const MountSource& source) {
  const MaybeTree tree =
      detached_file_system(source, kernel_flags({.read_only = true, .options = {}}));
  if (!tree) return false;
  if (!*tree) return tree->error();
  return has_entries(**tree, source.fs_type == "ext4");
}

// What a child says of its look: a letter, and the words of an error.
constexpr char kFiles = '+', kNoFiles = '-', kFirstCode = 'A';

std::string to_line(const Result<bool>& found) {
  if (found) return std::string(1, *found ? kFiles : kNoFiles);
  const auto code = static_cast<char>(kFirstCode + static_cast<int>(found.error().code()));
  return concat(std::string_view(&code, 1), found.error().message());
}

Result<bool> from_line(std::string_view line) {
  if (line == std::string_view(&kFiles, 1)) return true;
  if (line == std::string_view(&kNoFiles, 1)) return false;
  if (line.empty() || line.front() < kFirstCode)
    return Error(ErrorCode::kUnavailable, "the look into a file system said nothing");
  return Error(static_cast<ErrorCode>(line.front() - kFirstCode), std::string(line.substr(1)));
}

}  // namespace

// In a child: a mount that waits for its disk can be left behind.
Result<bool> KernelMounter::has_files(const MountSource& source, const FileLock& lock) {
  const ChildOutput said = in_child(
      lock, [&](const Write& write) { write(to_line(look_into(source))); }, kLookDeadlines);
  // That says nothing of the file system.
  if (!said.ended)
    return Error(ErrorCode::kUnavailable,
                 concat("looking into ", source.device, ": ", said.ended.error().message()));
  return from_line(said.text);
}

Result<std::vector<MountEntry>> KernelMounter::table() {
  auto reading = MountReader().read(table_, [](const MountEntry&) { return true; });
  if (!reading) return reading.error().context(table_);
  return std::move(reading->kept);
}

Status KernelMounter::mount(const MountSource& source, const MountFlags& flags,
                            const MountPoint& point) {
  const KernelFlags wanted = kernel_flags(flags);
  const MaybeTree tree =
      source.is_bind() ? detached_folder(source, wanted) : detached_file_system(source, wanted);
  if (!tree) return mount_in_steps(source, wanted, point);
  if (!*tree) return tree->error();
  // The descriptor's path is a link of /proc.
  constexpr unsigned kHow = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS;
  if (::move_mount((*tree)->get(), "", AT_FDCWD, point.folder.c_str(), kHow) != 0)
    return failed(source);
  return {};
}

Status KernelMounter::unmount(const std::string& top) {
  if (::umount2(top.c_str(), UMOUNT_NOFOLLOW) != 0) return Error::from_errno(errno, "umount");
  return {};
}

}  // namespace flexlocal::engine
