#include "flexvolume/engine/lvm/unknown_devices.h"

#include <algorithm>

namespace flexlocal::engine {
namespace {

bool is_known(const Inventory& inventory, const MapperName& device) {
  const auto is_it = [&](const LogicalVolume& volume) {
    return volume.group == device.group && volume.name == device.volume;
  };
  return std::any_of(inventory.volumes.begin(), inventory.volumes.end(), is_it) ||
         std::any_of(inventory.shared.begin(), inventory.shared.end(), is_it);
}

bool has_group(const Inventory& inventory, const std::string& name) {
  return std::any_of(inventory.groups.begin(), inventory.groups.end(),
                     [&](const VolumeGroup& group) { return group.name == name; });
}

}  // namespace

MapperName parse_mapper_name(std::string_view name) {
  MapperName parsed;
  std::string* part = &parsed.group;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '-') {
      *part += name[i];
    } else if (i + 1 < name.size() && name[i + 1] == '-') {
      *part += '-';
      ++i;
    } else if (part == &parsed.group) {
      part = &parsed.volume;
    } else {
      return {};
    }
  }
  if (parsed.group.empty() || parsed.volume.empty()) return {};
  return parsed;
}

Result<std::set<std::string>> groups_behind_devices(Lvm& lvm, Devices& devices,
                                                    const std::vector<MapperDevice>& before,
                                                    const Inventory& inventory) {
  std::set<std::string> groups;
  for (const MapperDevice& device : before) {
    const MapperName mapped = parse_mapper_name(device.name);
    const auto name = VolumeName::parse_any(mapped.volume);
    if (!name || !has_group(inventory, mapped.group) || is_known(inventory, mapped)) continue;
    // A stranger's of our name is none of the inventory's, and LVM knows it.
    const auto found = lvm.find_on(mapped.group, *name);
    if (!found) return found.error();
    if (*found) continue;
    const auto still = devices.mapper_uuid(device_path(mapped.group, mapped.volume));
    if (still) groups.insert(mapped.group);
  }
  return groups;
}

}  // namespace flexlocal::engine
