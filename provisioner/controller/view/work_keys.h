// What the cluster role's work queue names: a kind, and the key of an object.
#pragma once

#include <string_view>

#include "flexvolume/base/text.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

inline constexpr std::string_view kClaimKey = "claim:";
inline constexpr std::string_view kVolumeKey = "volume:";
inline constexpr std::string_view kNodeKey = "node:";  // its label
inline constexpr std::string_view kRoomKey = "room:";  // a node's
inline constexpr std::string_view kCopyKey = "copy:";
// A copy that a node tells of, and that has no VolumeCopy.
inline constexpr std::string_view kUnorderedKey = "unordered:";

// One that failed comes by its own back-off.
inline void enqueue(kube::WorkQueue& queue, std::string_view kind, const std::string& name) {
  const std::string key = concat(kind, name);
  if (queue.failures(key) == 0) queue.add(key);
}

}  // namespace flexlocal::provisioner
