// Which lock files there are. A caller that takes several takes the volume's first, then the
// pool's, then the group's.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace flexlocal::engine
