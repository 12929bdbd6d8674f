// What a killed LVM command leaves of a volume's devices.
//
// lvextend loads the new table of an active volume's device, suspends the device, commits the
// metadata and resumes it; for a thin volume it suspends the whole pool below, with all of the
// pool's volumes. Killed on the way, it leaves
//   - devices suspended: whoever reads or writes them waits, and a mount or unmount cannot be
//     killed any more;
//   - a table loaded that was never committed. Its extents are free by LVM's metadata and may be
//     another volume's soon, and the next resume, by whichever command, takes it up: libdm loads no
//     other where there is one (libdm/libdm-deptree.c, dm_tree_preload_children).
// `lvchange --refresh` run twice ends both: the first takes up what is loaded, the second loads
// what the metadata say. In between nothing uses what the device has beyond its file system. It
// waits for LVM's lock of the group, so that a command that is at work on the volume is not
// disturbed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flexvolume/engine/host/node_config.h"
#include "flexvolume/engine/lvm/lv_parts.h"
#include "flexvolume/engine/lvm/mapper_rows.h"

namespace flexlocal::engine {

class Resumer {
 public:
  explicit Resumer(const LvParts& parts) : parts_(parts) {}

  // Before a volume's device is used: finishes what was left where the device is suspended, or the
  // thin pool below it. A few small files are read where it is not, or is not active. kDenied when
  // the group's LV of that name is not the device; kBusy when it stays suspended. `thin_pool`: its
  // pool's name, empty for a volume that is not thin.
  Status resume(const std::string& group, const VolumeName& name, const std::string& device_uuid,
                const std::string& thin_pool);

  // Before the LV is extended or its blocks are wiped, and after an lvextend that failed: its
  // device is what LVM's metadata say, and has no other table. The lock of its group is held.
  Status finish(const LogicalVolume& volume);

  using IsMeant = std::function<bool(const LogicalVolume&)>;

  // finish() of the LV of that name as it is now, where it is the one that is meant; whether it is.
  // Takes the group's lock.
  Result<bool> finish_if(const std::string& group, const VolumeName& name, const IsMeant& is_meant);

  // The same, where the device has another size than the LV, of which `seen` may be an older view.
  // All of these give kOutdated, and change nothing, where that would cut off the end of the file
  // system: LVM's metadata were put back to what they were before it grew.
  Status mend_size(const LogicalVolume& seen);

  // All volumes with our owner tag on node.conf's groups, and node.conf's thin pools. Reads sysfs
  // alone while nothing is suspended.
  Status resume_all(const NodeConfig& config);
  // The same, and tables that were loaded and not taken up. One program where nothing is to be
  // done.
  Status finish_all(const NodeConfig& config);

 private:
  // Nothing where the path is no device of device-mapper.
  Result<std::optional<MapperState>> mapper_state_of(const std::string& path) const;
  Result<bool> is_suspended(const std::string& group, const std::string& name,
                            const std::string& thin_pool) const;
  // An LV that is not active is.
  Result<bool> is_finished(const LogicalVolume& volume);
  Status finish_found(const LogicalVolume& volume);
  Status resume_with_live_tables(const Error& why,
                                 const std::function<bool(const MapperRow&)>& is_meant);
  Status check_not_cut(const LogicalVolume& volume);
  Result<Bytes> used_of(const std::string& device, bool open) const;
  Status finish_now(const LogicalVolume& volume);
  Status finish_volumes(const std::string& group, const std::vector<MapperRow>& rows);
  Status finish_thin_pool(const Pool& pool, const std::vector<MapperRow>& rows);
  Status finish_pool_locked(const std::string& group, const std::string& pool);

  LvParts parts_;
};

}  // namespace flexlocal::engine
