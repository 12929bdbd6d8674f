// Volumes that are folders on the XFS that a pool shares, each with a hard project quota.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flexvolume/engine/lvm/lvm.h"
#include "flexvolume/engine/quota/quota_pool.h"
#include "flexvolume/engine/quota/quota_removal.h"
#include "flexvolume/engine/volume/volume_backend.h"

namespace flexlocal::engine {

// One quota folder, as `flexlocal list` and the inventory show it.
struct QuotaVolume {
  std::string name;
  Area area = Area::kVolumes;  // kNew: being made, kTrash: being removed
  std::optional<Ownership> owner;
  Bytes limit;
  Bytes used;
};

class QuotaBackend final : public VolumeBackend {
 public:
  QuotaBackend(const BackendParts& parts, ProjectFolders& folders, QuotaTuning tuning = {});

  Result<MountSource> make(const VolumeSpec& spec, const Pool& pool, int lock) override;
  Status finish_growth(const VolumeSpec& spec) override;
  Status grow(const VolumeSpec& spec, const Pool& pool, Bytes size, int lock) override;
  Result<bool> is_empty(const VolumeSpec& spec, const Pool& pool, const FileLock& lock) override;
  Result<Removal> remove(const VolumeSpec& spec, const Pool& pool) override;
  Status set_retained(const VolumeSpec& spec, const Pool& pool, Retained retained) override;

  // All folders of ours on the pool's file system.
  Result<std::vector<QuotaVolume>> volumes(const std::string& pool_name, const Pool& pool);

  // Adds the space and the folders of every pool that has quota folders. A pool whose file system
  // cannot be seen is logged and left out.
  Status add_to(Inventory& inventory, const NodeConfig& config);

  // See SharedVolume::settle. What cannot be done is logged.
  void settle_pools(const Inventory& inventory, const NodeConfig& config);
  // See Engine::settle. What cannot be done is logged: a folder that is not as it was made is for a
  // person, and the node goes on.
  void restore_records(const Inventory& inventory, const NodeConfig& config);

 private:
  Status keep_folder(const VolumeSpec& spec, const Pool& pool, bool kept);
  // A shared file system that node.conf wants made: made now, or not.
  enum class Absent { kMake, kLeave };
  // Nothing: it has not been made yet.
  Result<std::optional<QuotaPool>> open(const std::string& pool_name, const Pool& pool,
                                        Absent absent);
  Result<std::optional<SharedMount>> locate(const std::string& pool_name, const Pool& pool,
                                            Absent absent);
  Result<std::optional<Record>> restore_record(const VolumeSpec& spec, const Pool& pool,
                                               const std::optional<Record>& before);
  Status restore_if_lost(const VolumeSpec& spec, const Pool& pool);
  Result<std::optional<Record>> load_record(const VolumeSpec& spec) const;
  // `before`: the record in whose place it comes.
  static Record record_of(const VolumeSpec& spec, std::uint32_t project_id, RecordState state,
                          const std::optional<Record>& before);
  Result<QuotaFolder> find_or_make(QuotaPool& pool, const VolumeSpec& spec,
                                   const std::optional<Record>& record, int lock);
  Result<Removal> remove_from(QuotaPool& pool, const VolumeSpec& spec);
  Status prove_gone(const VolumeSpec& spec) const;
  Result<std::vector<QuotaVolume>> volumes_of(QuotaPool& pool);
  Status add_pool(Inventory& inventory, const std::string& name, const Pool& pool);

  BackendParts parts_;
  ProjectFolders& folders_;
  QuotaTuning tuning_;
  XfsQuota xfs_quota_;
};

}  // namespace flexlocal::engine
