// Which lock files there are. A caller that takes several takes the volume's first, then the
// pool's, then the group's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/lock.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::engine {

inline constexpr std::string_view kLockFolder = "/run/flexlocal";

// Held for a whole call: two calls for one volume come one after another.
Result<FileLock> lock_volume(const std::string& folder, const VolumeName& name);

// Held while the shared file system of a pool is made or mounted.
Result<FileLock> lock_pool(const std::string& folder, const std::string& pool);

// Held while LVM changes a group, so that waiting has a deadline and a clear message.
Result<FileLock> lock_volume_group(const std::string& folder, const std::string& group);
// The same without waiting: kDeadline while somebody else holds it.
Result<FileLock> try_lock_volume_group(const std::string& folder, const std::string& group);

// Held while the headers of these disks of a group are read, also by a child that waits for one of
// them for ever: there is no second. kDeadline after `deadline`.
inline constexpr std::chrono::seconds kDisksDeadline{21};
Result<FileLock> lock_disks(const std::string& folder, const std::string& group,
                            const std::vector<std::string>& disks,
                            std::chrono::seconds deadline = kDisksDeadline);

}  // namespace flexlocal::engine
