#include "flexvolume/engine/volume/volume_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "flexvolume/base/folder.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::engine {
namespace {

Error outside(std::string_view kubelet_dir, std::string_view folder) {
  return Error(
      ErrorCode::kInvalid,
      concat("folder \"", printable(folder), "\" is not a volume folder of kubelet: ", kubelet_dir,
             "/pods/<uid>/volumes/", kDriverFolder, "/<volume>; if kubelet runs with another ",
             "--root-dir, name it as kubelet-dir in node.conf"));
}

bool is_plain_name(std::string_view part) {
  return !part.empty() && part.size() <= NAME_MAX && part != "." && part != ".." &&
         part.find('\0') == std::string_view::npos;
}

Result<std::string> path_behind(const UniqueFd& fd) {
  char path[PATH_MAX];
  const ssize_t length = ::readlink(descriptor_path(fd).c_str(), path, sizeof path);
  if (length < 0) return Error::from_errno(errno, "reading a folder's real path");
  return std::string(path, static_cast<std::size_t>(length));
}

}  // namespace

Status check_volume_folder(std::string_view kubelet_dir, std::string_view folder) {
  if (!folder.starts_with(kubelet_dir) || folder.size() > PATH_MAX)
    return outside(kubelet_dir, folder);
  const std::string_view below = folder.substr(kubelet_dir.size());
  if (!below.starts_with("/pods/")) return outside(kubelet_dir, folder);
  const auto parts = split(below.substr(1), '/');
  if (parts.size() != 5 || parts[2] != "volumes" || parts[3] != kDriverFolder)
    return outside(kubelet_dir, folder);
  for (const std::string_view part : parts)
    if (!is_plain_name(part)) return outside(kubelet_dir, folder);
  return {};
}

Result<std::string> kubelet_dir_of(std::string_view folder) {
  constexpr std::ptrdiff_t kBelow = 5;  // pods/<uid>/volumes/<driver>/<volume>
  const auto parts = split(folder, '/');
  std::string dir;
  for (std::ptrdiff_t i = 1; i + kBelow < std::ssize(parts); ++i) {
    if (!is_plain_name(parts[static_cast<std::size_t>(i)])) return outside("<kubelet dir>", folder);
    dir += concat('/', parts[static_cast<std::size_t>(i)]);
  }
  if (dir.empty()) return outside("<kubelet dir>", folder);
  if (auto shape = check_volume_folder(dir, folder); !shape) return shape.error();
  return dir;
}

bool is_mounted_for_pods(const std::vector<MountEntry>& table, std::string_view device) {
  return std::any_of(table.begin(), table.end(), [&](const MountEntry& entry) {
    // First, since a host has thousands of mounts.
    if (entry.source != device) return false;
    const std::string_view point = entry.mount_point;
    return (point.starts_with(kPoolFolder) && point.substr(kPoolFolder.size(), 1) == "/") ||
           parse_volume_folder(point).has_value();
  });
}

std::optional<PodVolume> parse_volume_folder(std::string_view mount_point) {
  const auto parts = split(mount_point, '/');
  if (parts.size() < 6) return std::nullopt;
  const auto last = parts.end() - 5;
  if (last[0] != "pods" || last[2] != "volumes" || last[3] != kDriverFolder) return std::nullopt;
  auto name = VolumeName::parse(last[4]);
  if (!name) return std::nullopt;
  return PodVolume{std::string(last[1]), std::move(*name)};
}

Result<VolumeFolder> VolumeFolder::open(const std::string& kubelet_dir, const std::string& folder) {
  if (auto shape = check_volume_folder(kubelet_dir, folder); !shape) return shape.error();
  auto at = open_file(kubelet_dir, O_PATH | O_DIRECTORY);
  if (!at) return at.error();
  const auto parts = split(std::string_view(folder).substr(kubelet_dir.size() + 1), '/');
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    at = open_folder_in(*at, std::string(parts[i]), O_PATH, folder);
    if (!at) return at.error();
  }
  auto parent_path = path_behind(*at);
  if (!parent_path) return parent_path.error();
  std::string name(parts.back());
  std::string path = concat(*parent_path, '/', name);
  VolumeFolder opened(std::move(*at), std::move(name), std::move(path));
  if (auto itself = opened.open_itself(); !itself) return itself.error();
  return opened;
}

std::string VolumeFolder::through_parent() const {
  return concat(descriptor_path(parent_), '/', name_);
}

Result<UniqueFd> VolumeFolder::open_itself() const {
  return open_folder_in(parent_, name_, O_PATH, path_);
}

}  // namespace flexlocal::engine
