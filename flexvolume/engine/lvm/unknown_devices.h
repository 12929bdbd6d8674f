// Devices of volumes that the kernel has and LVM does not know.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "flexvolume/engine/host/device.h"
#include "flexvolume/engine/lvm/lvm.h"

namespace flexlocal::engine {

// The group and the logical volume that a device-mapper name is of; two empty names where it is
// none of LVM's, or one that LVM keeps for itself below another (lib/device/device_utils.c,
// build_dm_name: hyphens are doubled, a single one stands between).
struct MapperName {
  std::string group;
  std::string volume;
};
MapperName parse_mapper_name(std::string_view name);

// The inventory's groups of which a volume of ours has a device and is not in LVM's metadata:
// somebody put these back to what they were before the volume, and the next lvcreate may give its
// extents away. `before`: the devices as they were before the inventory was taken, so that a volume
// that is made or removed meanwhile is none.
Result<std::set<std::string>> groups_behind_devices(Lvm& lvm, Devices& devices,
                                                    const std::vector<MapperDevice>& before,
                                                    const Inventory& inventory);

}  // namespace flexlocal::engine
