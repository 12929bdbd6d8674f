// The folder that kubelet wants a volume at, proven to be one before it is touched.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/volume_name.h"
#include "flexvolume/engine/host/mount_table.h"

namespace flexlocal::engine {

// "<kubelet dir>/pods/<pod uid>/volumes/flexlocal.io~flexlocal/<volume>": the only shape that
// kubelet asks for (pkg/kubelet/kubelet_getters.go). kInvalid for any other.
Status check_volume_folder(std::string_view kubelet_dir, std::string_view folder);

// What comes before "/pods/" in a path of that shape: kubelet's own folder as kubelet names it,
// whatever node.conf says. kInvalid for any other path.
Result<std::string> kubelet_dir_of(std::string_view folder);

struct PodVolume {
  std::string pod_uid;  // as the folder has it: check before use
  VolumeName volume;
};
// Whose folder this is, whatever kubelet's own folder is called: for reading the mount table, where
// links are resolved.
std::optional<PodVolume> parse_volume_folder(std::string_view mount_point);

// Where pools' shared file systems are mounted. Not below /var/lib/flexlocal, which is a folder to
// remove: rm -r goes into what is mounted there.
inline constexpr std::string_view kPoolFolder = "/run/flexlocal-pools";

// Whether the device is mounted where flexlocal mounts: somebody's own mount does not count.
bool is_mounted_for_pods(const std::vector<MountEntry>& table, std::string_view device);

// Holds the folder's parent open, so that nothing below can be swapped for a link between the
// check and the mount. kubelet's own folder may be a link: its administrator's choice.
class VolumeFolder {
 public:
  // kInvalid for a wrong shape or a link on the way; kNotFound when it is not there.
  static Result<VolumeFolder> open(const std::string& kubelet_dir, const std::string& folder);

  // As the kernel's mount table shows it.
  const std::string& path() const { return path_; }
  // A path for umount(2) that leads to the folder through the held parent.
  std::string through_parent() const;
  // An O_PATH descriptor of what is there now: a mount's root, if something is mounted.
  Result<UniqueFd> open_itself() const;

 private:
  VolumeFolder(UniqueFd parent, std::string name, std::string path)
      : parent_(std::move(parent)), name_(std::move(name)), path_(std::move(path)) {}

  UniqueFd parent_;
  std::string name_;
  std::string path_;
};

}  // namespace flexlocal::engine
