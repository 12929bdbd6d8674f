#include "flexvolume/engine/lvm/unknown_devices.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

// The volume of the inventory that the device is of.
const LogicalVolume* find(const Inventory& inventory, const MapperName& device) {
  for (const auto* volumes : {&inventory.volumes, &inventory.shared})
    for (const LogicalVolume& volume : *volumes)
      if (volume.group == device.group && volume.name == device.volume) return &volume;
  return nullptr;
}

Error outdated_group(const std::string& group, const std::string& why) {
  return Error(ErrorCode::kCorrupt, concat("nothing is changed in volume group \"", group, "\", ",
                                           why, ": ", kBringNewerBack, group, "`)"));
}

std::string mark_of(const std::string& lock_folder, const std::string& group) {
  return concat(lock_folder, "/outdated-", group);
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

Status check_group(const LvParts& parts, const std::string& group) {
  const auto all = parts.devices.mapper_devices();
  if (!all) return all.error();
  std::vector<std::pair<std::string, Bytes>> ours;
  for (const MapperDevice& device : *all) {
    MapperName mapped = parse_mapper_name(device.name);
    if (mapped.group == group && VolumeName::parse_any(mapped.volume))
      ours.emplace_back(std::move(mapped.volume), device.size);
  }
  if (ours.empty()) return {};
  const auto known = parts.lvm.volumes_on(group);
  if (!known) return known.error();
  for (const auto& [name, size] : ours) {
    const auto found = std::find_if(known->begin(), known->end(),
                                    [&name = name](const auto& lv) { return lv.name == name; });
    if (found == known->end())
      return outdated_group(group, concat("where LVM does not know ", name, ", which runs"));
    if (found->size < size)
      return outdated_group(group, concat("where ", name, " runs with ", to_string(size),
                                          ", and LVM says ", to_string(found->size)));
  }
  return {};
}

Status check_group_locked(const LvParts& parts, const std::string& group) {
  const auto lock = lock_volume_group(parts.locks, group);
  return lock ? check_group(parts, group) : Status(lock.error());
}

Result<std::set<std::string>> groups_behind_devices(const LvParts& parts,
                                                    const std::vector<MapperDevice>& before,
                                                    const Inventory& inventory) {
  std::set<std::string> groups;
  for (const MapperDevice& device : before) {
    const MapperName mapped = parse_mapper_name(device.name);
    if (!VolumeName::parse_any(mapped.volume) || !has_group(inventory, mapped.group)) continue;
    const LogicalVolume* const known = find(inventory, mapped);
    if ((known != nullptr && known->size >= device.size) || groups.contains(mapped.group)) continue;
    // A stranger's of our name is none of the inventory's, and LVM knows it.
    const auto checked = check_group_locked(parts, mapped.group);
    if (!checked && checked.error().code() != ErrorCode::kCorrupt) return checked.error();
    if (!checked) groups.insert(mapped.group);
  }
  return groups;
}

Status mark_outdated(const std::string& lock_folder, const std::string& group, bool outdated) {
  const std::string mark = mark_of(lock_folder, group);
  if (outdated) return write_file_atomically(mark, "", 0600);
  if (::unlink(mark.c_str()) == 0 || errno == ENOENT) return {};
  return Error::from_errno(errno, concat("removing ", mark));
}

Status check_not_outdated(const std::string& lock_folder, const std::string& group) {
  if (::access(mark_of(lock_folder, group).c_str(), F_OK) != 0) return {};
  return outdated_group(group, "where a volume runs that LVM's metadata do not have so");
}

}  // namespace flexlocal::engine
