#include "flexvolume/engine/volume_holder.h"

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/mount_users.h"
#include "flexvolume/engine/limits/pod_cgroups.h"
#include "flexvolume/engine/volume/volume_folder.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kPods = "/pods/";
// kubelet, pkg/volume/util/subpath/subpath_linux.go
constexpr std::string_view kSubPaths = "/volume-subpaths/";

// "<kubelet dir>/pods/", "<pod uid>", "/volumes/flexlocal.io~flexlocal/<volume>". The volume's name
// and the driver's have no "/pods/" in them, so the last one is kubelet's.
struct FolderParts {
  std::string_view pods, uid, rest;
};

FolderParts parts_of(std::string_view folder) {
  const auto at = folder.rfind(kPods);
  if (at == std::string_view::npos) return {};
  const auto uid_at = at + kPods.size();
  const auto uid_end = std::min(folder.find('/', uid_at), folder.size());
  return {folder.substr(0, uid_at), folder.substr(uid_at, uid_end - uid_at),
          folder.substr(uid_end)};
}

bool shows(const MountEntry& entry, const MountSource& source) {
  if (entry.source != source.device) return false;
  if (!source.is_bind()) return true;
  return entry.root == source.root || entry.root.starts_with(concat(source.root, '/'));
}

bool is_kubelets_own(const std::string& mount_point) {
  return parse_volume_folder(mount_point).has_value() ||
         mount_point.find(kSubPaths) != std::string::npos;
}

}  // namespace

std::string pod_uid_of(std::string_view folder) { return std::string(parts_of(folder).uid); }

std::optional<Holder> find_holder(const std::vector<MountEntry>& table, const MountSource& source,
                                  std::string_view folder) {
  const FolderParts own = parts_of(folder);
  for (const MountEntry& entry : table) {
    const std::string_view place = entry.mount_point;
    if (!place.starts_with(own.pods)) continue;
    const std::string_view below = place.substr(own.pods.size());
    const auto uid_end = std::min(below.find('/'), below.size());
    const std::string_view uid = below.substr(0, uid_end);
    if (uid == own.uid) continue;
    if (below.substr(uid_end) == own.rest || shows(entry, source))
      return Holder{std::string(uid), printable(place)};
  }
  return std::nullopt;
}

Result<std::optional<Holder>> find_holder_elsewhere(const std::string& proc,
                                                    const MountSource& source,
                                                    const std::string& last_uid) {
  std::optional<Holder> holder;
  const auto is_last = [&](const std::string& process) {
    const auto cgroups = read_file(concat(proc, '/', process, "/cgroup"));
    return cgroups && find_pod_uid(*cgroups) == last_uid;  // it may have ended
  };
  // A mount as only a container has it.
  const auto find = [&](const MountEntry& entry) {
    return shows(entry, source) && !is_kubelets_own(entry.mount_point);
  };
  const auto note = [&](const std::string& process, const std::string& mount_point) {
    holder = Holder{last_uid, concat(printable(mount_point), " of process ", process)};
    return Visit::kStop;
  };
  auto visited = visit_users(proc, is_last, find, note);
  if (!visited) return visited.error();
  return holder;
}

Error held_by_another(const Holder& holder, const std::string& name) {
  // The first words are those of kubelet's own refusal, for volumes that it can tell apart.
  return Error(
      ErrorCode::kBusy,
      concat("volume uses the ReadWriteOncePod access mode and is already in use by another pod: ",
             name, name.empty() ? "" : " ", "(uid ", printable(holder.pod_uid, 60), ") has it at ",
             holder.place,
             "; this pod gets it as soon as that mount is gone: delete that pod or wait for its "
             "end, and if it has ended already, see what still uses that mount and unmount it"));
}

}  // namespace flexlocal::engine
