// What makes, grows and removes logical volumes works with.
#pragma once

#include <string>

#include "flexvolume/engine/lvm/filesystem.h"
#include "flexvolume/engine/lvm/lvm.h"
#include "flexvolume/engine/volume/volume_backend.h"

namespace flexlocal::engine {

struct LvParts : BackendParts {
  Lvm& lvm;
  Filesystems& filesystems;
};

// Makes the LV active, with its node in /dev/mapper. Where no udev keeps the nodes LVM makes it
// last, and takes a device whose node a killed command did not make for active.
Status activate_with_node(const LvParts& parts, const LogicalVolume& volume);

// kBusy while the volume is in use, or has a snapshot that would go with it.
Status check_idle(const LogicalVolume& volume);

// Whether its lvcreate was killed before it had a device, so that nothing of it was ever written.
Result<bool> is_half_made(const LvParts& parts, const VolumeSpec& spec,
                          const LogicalVolume& volume);

// That `device`, the volume's path, leads to the very LV whose tags were read; it is made active
// for that. kCorrupt where it leads elsewhere.
Status check_device(const LvParts& parts, const LogicalVolume& volume, const std::string& device);

// kNoSpace or kInvalid when the thin pool cannot promise `more`, kInvalid also when node.conf names
// none for the pool. A pool that is not active is made so where it is empty, as LVM itself does, or
// where a killed command left it so. The lock of the volume group is held, so that two calls do not
// promise the same.
Status check_thin_room(Lvm& lvm, const std::string& pool_name, const Pool& pool, Bytes more);

// Why the group cannot give what a command of LVM's was refused: kNoSpace with figures where that
// is the reason, else `error` itself. `taken`: what the volume has already.
Error explain_lack(Lvm& lvm, const std::string& pool_name, const Pool& pool, Bytes size,
                   Bytes taken, const Error& error);

}  // namespace flexlocal::engine
