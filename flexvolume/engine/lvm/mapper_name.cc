#include "flexvolume/engine/lvm/mapper_name.h"

#include "flexvolume/engine/lvm/lvm.h"

namespace flexlocal::engine {

std::string mapper_name(const std::string& group, const std::string& volume) {
  const std::string path = device_path(group, volume);
  return path.substr(path.rfind('/') + 1);
}

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

bool is_in_group(const std::string& name, const std::string& group) {
  const std::string start = mapper_name(group, "");
  // Two hyphens are one in the group's own name.
  return name.starts_with(start) && name.substr(start.size(), 1) != "-";
}

}  // namespace flexlocal::engine
