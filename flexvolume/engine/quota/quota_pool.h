// The quota folders of one pool: found, judged, made, limited. For one call, while the volume's
// lock is held.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flexvolume/base/log.h"
#include "flexvolume/engine/quota/project_folders.h"
#include "flexvolume/engine/quota/quota_mark.h"
#include "flexvolume/engine/quota/quota_room.h"
#include "flexvolume/engine/quota/shared_file_system.h"
#include "flexvolume/engine/quota/xfs_quota.h"

namespace flexlocal::engine {

struct QuotaFolder {
  UniqueFd folder;
  std::optional<QuotaMark> mark;  // nothing: a stranger's
  bool made = false;              // by this very call
};

struct QuotaPoolParts {
  ProjectFolders& folders;
  XfsQuota& xfs_quota;
  Log& log;
};

class QuotaPool {
 public:
  QuotaPool(const QuotaPoolParts& parts, std::string name, unsigned overcommit_percent,
            SharedFileSystem shared)
      : parts_(parts),
        name_(std::move(name)),
        overcommit_percent_(overcommit_percent),
        shared_(std::move(shared)) {}

  SharedFileSystem& shared() { return shared_; }

  // Nothing when the area has no folder of that name.
  Result<std::optional<QuotaFolder>> find(Area area, const std::string& name);

  // Whether the folder is this very volume, in the project that it was made with, and limited.
  // kDenied when it is not the claim's, kCorrupt, with what to look at, when it is not limited.
  Status check(const QuotaFolder& folder, const VolumeSpec& spec);

  // Makes the volume, which is not there, as a whole or not at all. kNoSpace with figures.
  Status create(const VolumeSpec& spec, int volume_lock);

  // Makes a checked volume offer `size`. kInvalid when that is less than it offers, kNoSpace with
  // figures; it is then as it was.
  Status raise(const QuotaFolder& folder, Bytes size, int volume_lock);

  // Removes what a killed create() left of the volume, if anything.
  Status discard_new(const std::string& name);

  // Takes the project's limit away; starts no program when it has none.
  Status clear_limit(std::uint32_t project_id);

  Result<ProjectQuota> quota(std::uint32_t project_id);
  // What the pool has; `block`: sizes are made whole multiples of it.
  struct Room {
    QuotaRoom room;
    Bytes block;
  };
  Result<Room> room();

 private:
  Result<Capacity> capacity();
  Result<Room> room_in(const std::vector<ProjectQuota>& quotas);
  Status check_room(const Room& room, Bytes more, const std::string& doing) const;
  Result<std::optional<std::uint32_t>> resume(const VolumeSpec& spec);
  Result<std::uint32_t> begin(const VolumeSpec& spec, const std::vector<ProjectQuota>& quotas);
  Status limit_new(const VolumeSpec& spec, const ProjectLimit& limit,
                   const std::vector<int>& locks);
  Status verify(const ProjectLimit& limit);
  Status build(const VolumeSpec& spec, const std::vector<int>& locks);

  QuotaPoolParts parts_;
  std::string name_;
  unsigned overcommit_percent_;
  SharedFileSystem shared_;
};

}  // namespace flexlocal::engine
