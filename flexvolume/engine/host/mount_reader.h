// The kernel's mount tables, read as streams: they may have tens of thousands of lines, and who
// runs containers decides how many, and how long they are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/host/mount_table.h"

namespace flexlocal::engine {

// False: the mount is passed over, and costs no memory.
using KeepMount = std::function<bool(const MountEntry& entry)>;

struct MountReading {
  std::vector<MountEntry> kept;  // in the table's order
  std::size_t lines = 0;         // all that the table has
};

// Until Linux 5.8 a table that is read while something is unmounted may lack mounts that are there
// (fs/namespace.c, mnt_list_next and its cursor; commit 9f6c61f96f2d). Then it is read until two
// readings in a row are the same.
bool lists_every_mount(const std::string& kernel_release);

class MountReader {
 public:
  // Of the running kernel.
  MountReader();
  explicit MountReader(bool lists_every_mount) : lists_every_mount_(lists_every_mount) {}

  // `path`: as /proc/<pid>/mountinfo. kUnavailable when it keeps changing on an old kernel.
  // Of a line that is longer than 128 KiB a part in its middle is passed over.
  Result<MountReading> read(const std::string& path, const KeepMount& keep) const;

  // The same of what `open` opens, again for each reading.
  using Open = std::function<Result<UniqueFd>()>;
  Result<MountReading> read(const Open& open, const KeepMount& keep) const;

 private:
  bool lists_every_mount_;
};

}  // namespace flexlocal::engine
