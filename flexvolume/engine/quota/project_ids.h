// Which project id a new volume gets. Administrators use project ids, too, and an id whose data
// still exists would charge it to the new volume; so ids only ever go up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flexvolume/engine/quota/project_folders.h"

namespace flexlocal::engine {

// Below are those that administrators write into /etc/projid by hand; 2^32-1 means "none".
inline constexpr std::uint32_t kFirstProjectId = 1U << 20U;
inline constexpr std::uint32_t kLastProjectId = UINT32_MAX - 1;

// The next id that is free: not below `counter`, not used and not limited by anyone. Without a
// counter it is above every id of ours that is in use. kNoSpace when there is none left.
Result<std::uint32_t> next_project_id(std::optional<std::uint32_t> counter,
                                      const std::vector<ProjectQuota>& quotas);

// The counter stands on the file system whose ids it counts: it shares its fate.
class ProjectIdCounter {
 public:
  explicit ProjectIdCounter(std::string path) : path_(std::move(path)) {}

  // An id that no call ever got before, even when this one is killed right after. The caller holds
  // the file system's lock. A lost or damaged counter is begun anew from `quotas`.
  Result<std::uint32_t> take(const std::vector<ProjectQuota>& quotas) const;

 private:
  Result<std::optional<std::uint32_t>> load() const;
  std::string path_;
};

}  // namespace flexlocal::engine
