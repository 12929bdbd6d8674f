// Devices that a killed command left suspended.
//
// lvextend suspends the device of an active volume while it gives it a new table, and for a thin
// volume the whole pool below it, with all of the pool's volumes. Killed there, it leaves them so:
// whoever reads or writes waits, and a mount or unmount cannot be killed any more. `lvchange
// --refresh` resumes the volume and what it stands on (LVM's lib/activate/activate.c,
// lv_refresh_suspend_resume). It waits for LVM's lock of the group, so that a command that is at
// work on the volume is not disturbed.
#pragma once

#include <string>

#include "flexvolume/engine/lv_parts.h"
#include "flexvolume/engine/node_config.h"

namespace flexlocal::engine {

class Resumer {
 public:
  explicit Resumer(const LvParts& parts) : parts_(parts) {}

  // Before a volume's device is used: resumes it where it is suspended. Two small files are read
  // where it is not, or has no device. kDenied when the group's LV of that name is not the device.
  Status resume(const std::string& group, const VolumeName& name, const std::string& device_uuid);

  // The same for a caller that holds the lock of the volume's group.
  Status resume_locked(const LogicalVolume& volume);

  // All volumes with our owner tag, and node.conf's thin pools, see Engine::resume_suspended.
  Status resume_all(const NodeConfig& config);

 private:
  Result<bool> is_suspended(const std::string& group, const std::string& name) const;
  Status refresh(const LogicalVolume& volume);
  Status resume_volumes();
  Status resume_thin_pools(const NodeConfig& config);
  Status resume_thin_pool(const Pool& pool);
  Result<bool> is_among_suspended(const std::string& name) const;

  LvParts parts_;
};

}  // namespace flexlocal::engine
