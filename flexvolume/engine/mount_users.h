// Who has a folder mounted, in any mount namespace: a bind mount leaves no trace on the device that
// it comes from, and a container keeps its copy when the host's own mount is long gone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/engine/mount_table.h"

namespace flexlocal::engine {

// A folder as mount tables name it, and by its path on the host.
struct MountedFolder {
  std::string device;  // "253:4"
  std::string root;    // from the root of its file system
  std::string path;
};

// Where the table shows the folder or something in it, or has something mounted in it. Nothing:
// nowhere.
std::optional<std::string> find_user(const std::vector<MountEntry>& table,
                                     const MountedFolder& folder);

// The same, in the mount namespaces of all processes. `proc`: where the host's processes are
// listed. Says where: "/mnt of process 17". Processes that end meanwhile are passed over; one whose
// table cannot be read is an error, since it proves nothing.
Result<std::optional<std::string>> find_user_anywhere(const std::string& proc,
                                                      const MountedFolder& folder);

}  // namespace flexlocal::engine
