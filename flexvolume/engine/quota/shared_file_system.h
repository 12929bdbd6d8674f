// The XFS that the quota folders of a pool share, and where they are on it:
//
//   .flexlocal/            root's own, mode 0700: pods see their volume, never its neighbours
//     lock                 held while limits are counted and changed
//     next-project-id      see ProjectIdCounter
//     volumes/<name>       the volumes; what has its name here is limited
//     new/<name>           one that is being made; nothing is in it
//     trash/<name>-<id>/   one that is being removed: a heap (see empty_heap)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/lock.h"
#include "flexvolume/engine/host/mount_table.h"

namespace flexlocal::engine {

struct SharedMount {
  std::string path;    // where it is mounted on the host
  std::string source;  // path of its block device
  std::string number;  // "253:4"
};

// What is mounted at `path`, proven fit: the root of an XFS whose project quotas are enforced.
// kUnavailable when nothing is mounted there, kInvalid when it is something else; both say what to
// do.
Result<SharedMount> find_shared_mount(const std::vector<MountEntry>& table,
                                      const std::string& path);

enum class Area { kVolumes, kNew, kTrash };

// Holds the folders open.
class SharedFileSystem {
 public:
  // Makes the folders that are missing. kDenied when .flexlocal is not ours alone. `root`: the
  // folder under which the host's file tree is seen.
  static Result<SharedFileSystem> open(SharedMount mount, const std::string& root);

  const SharedMount& mount() const { return mount_; }
  // Where this process sees the block device.
  const std::string& device() const { return device_; }
  const UniqueFd& base() const { return base_; }
  const UniqueFd& area(Area area) const;

  // For as long as a sum of limits must hold.
  Result<FileLock> lock() const;
  std::string counter_path() const;

  // Of a folder in an area: on the host, and from the file system's own root.
  std::string host_path(Area area, std::string_view name) const;
  static std::string path_in(Area area, std::string_view name);

  // The names in an area, in no order.
  Result<std::vector<std::string>> names(Area area) const;
  // A folder in an area, open for reading. kNotFound when there is none, kDenied when it is a link
  // or no folder.
  Result<UniqueFd> open_folder(Area area, std::string_view name) const;
  // Renames a folder; kExists when the new name is taken. Synced.
  Status move(Area from, const std::string& name, const UniqueFd& to, const std::string& new_name);
  // fsync, so that a power cut does not take back what was done in it.
  Status sync(const UniqueFd& folder) const;

 private:
  SharedFileSystem(SharedMount mount, std::string device)
      : mount_(std::move(mount)), device_(std::move(device)) {}

  SharedMount mount_;
  std::string device_;
  UniqueFd base_;
  UniqueFd volumes_;
  UniqueFd new_;
  UniqueFd trash_;
};

}  // namespace flexlocal::engine
