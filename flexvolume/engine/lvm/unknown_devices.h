// Whether LVM's metadata of a group are those of what runs, or somebody put older ones back
// (vgcfgrestore): then what is made, grown or wiped next may be a running volume's extents.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "flexvolume/engine/host/device.h"
#include "flexvolume/engine/lvm/lv_parts.h"

namespace flexlocal::engine {

// The group and the logical volume that a device-mapper name is of; two empty names where it is
// none of LVM's, or one that LVM keeps for itself below another (lib/device/device_utils.c,
// build_dm_name: hyphens are doubled, a single one stands between).
struct MapperName {
  std::string group;
  std::string volume;
};
MapperName parse_mapper_name(std::string_view name);

// kCorrupt where the kernel has a device of a volume of ours in the group that LVM does not know,
// or knows as a smaller one. Only volumes that are active are seen. One program. The lock of the
// group is held.
Status check_group(const LvParts& parts, const std::string& group);
// The same, and takes that lock.
Status check_group_locked(const LvParts& parts, const std::string& group);

// The inventory's groups of which check_group says so. `before`: the devices as they were before
// the inventory was taken, so that a volume that is made or removed meanwhile is none.
Result<std::set<std::string>> groups_behind_devices(const LvParts& parts,
                                                    const std::vector<MapperDevice>& before,
                                                    const Inventory& inventory);

// The daemon's word for mounts, which have no program's time to look themselves: kept beside the
// locks, until the daemon sees better metadata or the host starts again.
Status mark_outdated(const std::string& lock_folder, const std::string& group, bool outdated);
// kCorrupt where it is marked.
Status check_not_outdated(const std::string& lock_folder, const std::string& group);

// The end of a sentence, before the group's name and "`)".
inline constexpr std::string_view kBringNewerBack =
    "LVM's metadata are older than the volume; bring newer ones back (`vgcfgrestore --list ";

}  // namespace flexlocal::engine
