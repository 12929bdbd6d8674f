// Volumes that are logical volumes: backends lvm and thin.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "flexvolume/engine/lvm/lv_parts.h"
#include "flexvolume/engine/volume/volume_backend.h"

namespace flexlocal::engine {

class LvBackend final : public VolumeBackend {
 public:
  explicit LvBackend(const BackendParts& parts)
      : parts_(parts),
        lvm_(parts.runner, parts.tools),
        filesystems_(parts.runner, parts.tools, parts.devices, parts.root) {}

  Result<MountSource> make(const VolumeSpec& spec, const Pool& pool, int lock) override;
  Status finish_growth(const VolumeSpec& spec) override;
  Status grow(const VolumeSpec& spec, const Pool& pool, Bytes size, int lock) override;
  Result<bool> is_empty(const VolumeSpec& spec, const Pool& pool, const FileLock& lock) override;
  Result<Removal> remove(const VolumeSpec& spec, const Pool& pool) override;
  Status set_retained(const VolumeSpec& spec, const Pool& pool, Retained retained) override;

  // See Engine::inventory.
  Result<Inventory> inventory(const NodeConfig& config);
  // See Engine::is_as_seen.
  bool is_as_seen(const std::map<std::string, MetadataHead>& heads, const NodeConfig& config);
  // See Resumer::resume: a recorded volume, before its device is used.
  Status resume(const Record& record, const NodeConfig& config);
  // See Engine::resume_suspended.
  Status resume_all(const NodeConfig& config);
  // See Engine::settle.
  Status settle(const Inventory& inventory, const NodeConfig& config);

 private:
  LvParts lv_parts();
  std::map<std::string, MetadataHead> heads(const NodeConfig& config);
  Result<bool> is_without_lvm(const NodeConfig& config) const;
  void withhold_room(Inventory& inventory, const NodeConfig& config);
  Result<std::vector<Space>> spaces(const NodeConfig& config,
                                    const std::vector<VolumeGroup>& groups);
  // Nothing when there is no such pool, or nobody knows how full it is.
  Result<std::optional<Space>> thin_space(const Pool& pool, const std::string& id, Bytes extent);
  Result<std::optional<LogicalVolume>> find_or_prove_gone(const VolumeSpec& spec,
                                                          const std::string& group);
  Status check_gone(const VolumeName& name, const std::string& group,
                    const std::optional<Record>& record);
  Result<Removal> forget(const VolumeName& name);

  BackendParts parts_;
  Lvm lvm_;
  Filesystems filesystems_;
};

}  // namespace flexlocal::engine
