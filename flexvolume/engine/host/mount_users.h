// Who has a folder mounted, in any mount namespace: a bind mount leaves no trace on the device that
// it comes from, and a container keeps its copy when the host's own mount is long gone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/engine/host/mount_reader.h"
#include "flexvolume/engine/host/mount_table.h"

namespace flexlocal::engine {

// A folder as mount tables name it, and by its path on the host.
struct MountedFolder {
  std::string device;  // "253:4"
  std::string root;    // from the root of its file system
  std::string path;
};

// Whether the mount shows the folder or something in it, or is one in it.
bool is_user(const MountEntry& entry, const MountedFolder& folder);

enum class Visit { kGoOn, kStop };
using VisitUser = std::function<Visit(const std::string& process, const std::string& mount_point)>;
// By its number. False: the process is passed over, and its table is not read.
using WantProcess = std::function<bool(const std::string& process)>;

// Calls `visit` with every wanted process in whose mount namespace there is a mount that `find` is
// true of, and the first one's mount point, until it says kStop. `proc`: where the host's processes
// are listed. Processes that end meanwhile are passed over; one whose table cannot be read is an
// error, since it proves nothing.
Status visit_users(const std::string& proc, const WantProcess& wants, const KeepMount& find,
                   const VisitUser& visit);

// is_user() in the mount namespaces of all processes. Says where: "/mnt of process 17". Errors as
// visit_users().
Result<std::optional<std::string>> find_user_anywhere(const std::string& proc,
                                                      const MountedFolder& folder);

}  // namespace flexlocal::engine
