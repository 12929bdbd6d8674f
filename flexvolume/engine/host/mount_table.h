// Mounts: the table that the kernel keeps, and what changes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/lock.h"
#include "flexvolume/base/result.h"

namespace flexlocal::engine {

struct MountEntry {
  std::string device;       // "253:4", major and minor
  std::string root;         // the folder of the file system that is seen there; unescaped
  std::string mount_point;  // unescaped
  std::string fs_type;
  std::string source;
  std::string super_options;  // of the file system, not of this one mount
  bool read_only = false;     // this mount, or the file system
};

// A line of /proc/<pid>/mountinfo (man proc_pid_mountinfo); nothing when it is not one. The kernel
// only adds optional fields. Options are kept of the file systems that are asked for theirs: an
// overlay's are as long as its images have layers.
std::optional<MountEntry> parse_mount_line(std::string_view line);

// Whether a list such as "rw,prjquota" has that very word.
bool has_option(std::string_view options, std::string_view wanted);

// What is stacked on a folder, the lowest first.
std::vector<MountEntry> mounts_at(const std::vector<MountEntry>& table, std::string_view path);

// What is to be mounted.
struct MountSource {
  std::string device;               // path of the block device underneath
  std::string fs_type;              // empty: `folder` is bound
  std::string data;                 // options of the file system, separated by commas
  std::string folder;               // of a file system that is mounted already
  std::string root;                 // the same folder as the mount table names it
  bool file_system_behind = false;  // it has to grow to its device's size once it is mounted
  bool for_one_pod = false;         // no second pod may have it at the same time

  bool is_bind() const { return fs_type.empty(); }
  // Whether `entry` shows this very thing.
  bool is_shown_by(const MountEntry& entry) const {
    return entry.source == device && (!is_bind() || entry.root == root);
  }
};

// Of the one mount, not of the file system.
struct MountFlags {
  bool read_only = false;
  std::vector<std::string> options;  // those of check_mount_option that belong to a mount
};

// A folder to mount on, by two paths: to the folder that is there now, as a descriptor holds it,
// and to whatever is on top there later. The same path twice for a folder that only root can swap.
struct MountPoint {
  std::string folder;
  std::string top;
};

class Mounter {
 public:
  virtual ~Mounter() = default;
  virtual Result<std::vector<MountEntry>> table() = 0;
  // With nodev and nosuid, always. The mount appears with all its flags or not at all: kubelet
  // takes whatever is mounted there for success.
  virtual Status mount(const MountSource& source, const MountFlags& flags,
                       const MountPoint& point) = 0;
  // What is on top at this path. kBusy while somebody uses it. Never lazy: a lazy unmount reports
  // success while data still flows.
  virtual Status unmount(const std::string& top) = 0;
  // Whether the device's file system has anything in its root but ext4's lost+found. It is mounted
  // for that, in no folder and no table, and a log that a crash left is replayed. `lock`: the
  // volume's. False also where the kernel is older than Linux 5.2, which has no such mount.
  //   kUnavailable: it came to no end; the disk may not answer
  //   else as mount()
  virtual Result<bool> has_files(const MountSource& source, const FileLock& lock) = 0;
};

}  // namespace flexlocal::engine
