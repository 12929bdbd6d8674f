#include "flexvolume/engine/host/tools.h"

#include <unistd.h>

#include <array>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::array<Tool, 15> kTools = {{{"blkdiscard", "util-linux"},
                                          {"blkid", "util-linux"},
                                          {"dmsetup", "dmsetup"},
                                          {"lvchange", "lvm2"},
                                          {"lvcreate", "lvm2"},
                                          {"lvextend", "lvm2"},
                                          {"lvremove", "lvm2"},
                                          {"lvs", "lvm2"},
                                          {"mkfs.ext4", "e2fsprogs"},
                                          {"mkfs.xfs", "xfsprogs"},
                                          {"mount", "mount"},
                                          {"resize2fs", "e2fsprogs"},
                                          {"vgs", "lvm2"},
                                          {"xfs_growfs", "xfsprogs"},
                                          {"xfs_quota", "xfsprogs"}}};

constexpr std::array<std::string_view, 4> kUsualPlaces = {"/usr/sbin/", "/usr/bin/", "/sbin/",
                                                          "/bin/"};

}  // namespace

std::span<const Tool> all_tools() { return kTools; }

bool is_tool(std::string_view name) {
  for (const Tool& tool : kTools)
    if (tool.name == name) return true;
  return false;
}

std::string tool_names() {
  std::string names;
  for (const Tool& tool : kTools) names += concat(names.empty() ? "" : ", ", tool.name);
  return names;
}

Result<std::string> Tools::path(std::string_view name) const {
  if (const auto found = configured_.find(std::string(name)); found != configured_.end())
    return found->second;
  for (const std::string_view place : kUsualPlaces) {
    const std::string path = concat(place, name);
    if (::access((root_ + path).c_str(), X_OK) == 0) return path;
  }
  std::string_view package = "unknown";
  for (const Tool& tool : kTools)
    if (tool.name == name) package = tool.package;
  return Error(ErrorCode::kNotFound,
               concat(name, " is not on this node; install the package ", package,
                      " or name its path in node.conf under [tool]"));
}

}  // namespace flexlocal::engine
