// Removes one quota folder with everything in it, in slices: unreachable at once, gone in the end.
#pragma once

#include <chrono>
#include <string>

#include "flexvolume/engine/quota/quota_pool.h"
#include "flexvolume/engine/volume/volume_backend.h"

namespace flexlocal::engine {

struct QuotaTuning {
  std::string proc = "/proc";  // where the host's processes are listed
  std::chrono::milliseconds removal_slice = std::chrono::seconds(3);  // how long one call works
};

class QuotaRemoval {
 public:
  QuotaRemoval(const QuotaTuning& tuning, QuotaPool& pool, const VolumeSpec& spec)
      : tuning_(tuning), pool_(pool), spec_(spec) {}

  // Whether the volume may be removed: nothing when it is not at its place, kDenied when it is not
  // the claim's, kBusy when it is mounted in any mount namespace or something is mounted in it.
  Result<std::optional<QuotaFolder>> find_removable();

  // Moves it where no mount finds it, in one step. kNoSpace where the trash has no room for its
  // name.
  Status bury(const QuotaFolder& folder);

  // For a volume that cannot be buried: removed where it is, as far as a slice goes. Its record
  // keeps mounts away.
  Result<Removal> clear_in_place(const QuotaFolder& folder);

  // What is buried of the volume, and what a killed creation left: removed as far as a slice goes.
  Result<Removal> clear_away();

  // Whether there is anything of it in the trash.
  Result<bool> is_buried();

 private:
  Status check_unused();
  Result<std::vector<std::string>> heaps();
  Result<Removal> clear_heap(const std::string& name);
  Result<Removal> clear_folder(Area area, const std::string& name, const UniqueFd& folder,
                               std::uint32_t id);

  const QuotaTuning& tuning_;
  QuotaPool& pool_;
  const VolumeSpec& spec_;
};

}  // namespace flexlocal::engine
