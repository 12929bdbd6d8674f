// The names that LVM gives the devices of device-mapper (lib/device/device_utils.c, build_dm_name:
// hyphens are doubled, a single one stands between the group and the volume).
#pragma once

#include <string>
#include <string_view>

namespace flexlocal::engine {

struct MapperName {
  std::string group;
  std::string volume;
};

// "data-pvc--1" of data and pvc-1.
std::string mapper_name(const std::string& group, const std::string& volume);
// Two empty names where it is none of LVM's, or one that LVM keeps for itself below another.
MapperName parse_mapper_name(std::string_view name);
// Of any volume of it, also of those that LVM keeps for itself.
bool is_in_group(const std::string& name, const std::string& group);

}  // namespace flexlocal::engine
