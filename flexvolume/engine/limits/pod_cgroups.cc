#include "flexvolume/engine/limits/pod_cgroups.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <thread>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/volume_name.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kSlice = ".slice";

// kubelet's default for each driver, and those of a kubelet with --cgroup-root=/kubelet, as kind
// has it. Any other --cgroup-root is searched for.
const std::array<CgroupNames, 4> kUsualPlaces = {{{"kubepods"},
                                                  {"kubepods.slice"},
                                                  {"kubelet", "kubepods"},
                                                  {"kubelet.slice", "kubelet-kubepods.slice"}}};
// Of the search: a --cgroup-root is short, and a host may have thousands of services.
constexpr std::size_t kMostLevels = 5;
constexpr std::size_t kMostFolders = 2048;

// The cgroups from `start` on; nothing when one is missing, a link or no folder.
std::optional<PodCgroup> descend(const Cgroup& start, const CgroupNames& names) {
  PodCgroup chain;
  for (const std::string& name : names) {
    auto next = (chain.empty() ? start : chain.back()).child(name);
    if (!next) return std::nullopt;
    chain.push_back(std::move(*next));
  }
  return chain;
}

bool has_services_only(std::string_view name) {
  return name.ends_with(".service") || name.ends_with(".scope");
}

// Level by level, so that what a pod makes within its own cgroup never comes before kubelet's own.
std::vector<CgroupNames> search_kubepods(const Cgroup& root) {
  std::vector<CgroupNames> found;
  std::deque<CgroupNames> queue = {{}};
  for (std::size_t visited = 0; !queue.empty() && visited < kMostFolders; ++visited) {
    const CgroupNames here = std::move(queue.front());
    queue.pop_front();
    const auto chain = descend(root, here);
    if (!chain) continue;
    const auto names = (chain->empty() ? root : chain->back()).children();
    if (!names) continue;
    for (const std::string& name : *names) {
      CgroupNames below = here;
      below.push_back(name);
      if (is_kubepods(name))
        found.push_back(std::move(below));
      else if (below.size() < kMostLevels && !has_services_only(name))
        queue.push_back(std::move(below));
    }
  }
  return found;
}

std::vector<CgroupNames> find_kubepods(const Cgroup& root) {
  std::vector<CgroupNames> found;
  std::copy_if(kUsualPlaces.begin(), kUsualPlaces.end(), std::back_inserter(found),
               [&](const CgroupNames& place) { return descend(root, place).has_value(); });
  return found.empty() ? search_kubepods(root) : found;
}

// From the cgroup of all pods down, without the root.
std::optional<PodCgroup> look(const Cgroup& root, const std::vector<CgroupNames>& all_kubepods,
                              std::string_view pod_uid) {
  for (const CgroupNames& kubepods : all_kubepods)
    for (const CgroupNames& place : pod_places(kubepods.back(), pod_uid)) {
      CgroupNames names = kubepods;
      names.insert(names.end(), place.begin(), place.end());
      if (auto found = descend(root, names)) return found;
    }
  return std::nullopt;
}

// "pod4f0e...", or of the systemd driver "kubepods-burstable-pod4f0e....slice", where the uid's own
// hyphens are underscores.
std::optional<std::string> pod_uid_in(std::string_view name) {
  constexpr std::string_view kPod = "pod";
  std::string uid;
  if (name.starts_with(kPod)) {
    uid = name.substr(kPod.size());
  } else if (const auto at = name.rfind("-pod");
             at != std::string_view::npos && name.ends_with(kSlice)) {
    name.remove_suffix(kSlice.size());
    uid = name.substr(std::min(at + 1 + kPod.size(), name.size()));
    std::replace(uid.begin(), uid.end(), '_', '-');
  }
  return is_pod_uid(uid) ? std::optional(uid) : std::nullopt;
}

}  // namespace

Result<IoHierarchy> find_io_hierarchy(const std::vector<MountEntry>& table,
                                      std::string_view host_root) {
  const auto mounted = [&](auto wanted) {
    return std::find_if(table.begin(), table.end(), wanted);
  };
  const auto v1 = mounted([](const MountEntry& entry) {
    return entry.fs_type == "cgroup" && has_option(entry.super_options, "blkio");
  });
  if (v1 != table.end()) return IoHierarchy{CgroupVersion::kV1, concat(host_root, v1->mount_point)};
  const auto v2 = mounted([](const MountEntry& entry) { return entry.fs_type == "cgroup2"; });
  if (v2 != table.end()) return IoHierarchy{CgroupVersion::kV2, concat(host_root, v2->mount_point)};
  return Error(ErrorCode::kNotFound,
               "this host has no cgroup hierarchy that can limit block I/O; mount cgroup2, or "
               "cgroup v1 with the controller blkio, at /sys/fs/cgroup");
}

bool is_pod_uid(std::string_view text) {
  constexpr std::size_t kHashDigits = 32;
  constexpr std::string_view kHex = "0123456789abcdef";
  return is_uuid(text) ||
         (text.size() == kHashDigits && text.find_first_not_of(kHex) == std::string_view::npos);
}

std::optional<std::string> find_pod_uid(std::string_view cgroups) {
  for (const std::string_view line : split(cgroups, '\n')) {
    bool below = false;
    for (const std::string_view name : split(line, '/')) {
      auto uid = below ? pod_uid_in(name) : std::nullopt;
      if (uid) return uid;
      below = below || is_kubepods(name);
    }
  }
  return std::nullopt;
}

bool is_kubepods(std::string_view name) {
  return name == "kubepods" || name == "kubepods.slice" || name.ends_with("-kubepods.slice");
}

std::vector<CgroupNames> pod_places(std::string_view kubepods, std::string_view pod_uid) {
  if (!kubepods.ends_with(kSlice)) {
    const std::string pod = concat("pod", pod_uid);
    return {{pod}, {"burstable", pod}, {"besteffort", pod}};
  }
  // A slice's name is its whole way from the top, and a hyphen in it is a step (man systemd.slice).
  kubepods.remove_suffix(kSlice.size());
  std::string pod = concat("-pod", pod_uid);
  std::replace(pod.begin() + 1, pod.end(), '-', '_');
  std::vector<CgroupNames> places = {{concat(kubepods, pod, kSlice)}};
  for (const std::string_view quality : {"-burstable", "-besteffort"})
    places.push_back({concat(kubepods, quality, kSlice), concat(kubepods, quality, pod, kSlice)});
  return places;
}

void sleep_for(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

Result<PodCgroup> find_pod_cgroup(const IoHierarchy& hierarchy, std::string_view pod_uid,
                                  std::chrono::milliseconds patience, const Pause& pause) {
  constexpr std::chrono::milliseconds kBetween{20};
  if (!is_pod_uid(pod_uid))
    return Error(ErrorCode::kInvalid,
                 concat("pod uid \"", printable(pod_uid, 60), "\" cannot name a cgroup"));
  auto root = Cgroup::open_root(hierarchy.root);
  if (!root) return root.error();
  const auto all_kubepods = find_kubepods(*root);
  if (all_kubepods.empty())
    return Error(ErrorCode::kNotFound,
                 concat("below ", hierarchy.root,
                        " kubelet has no cgroup for its pods; run kubelet "
                        "with --cgroups-per-qos, and the same cgroup driver as the runtime"));
  for (auto waited = std::chrono::milliseconds(0);; waited += kBetween) {
    if (auto found = look(*root, all_kubepods, pod_uid)) {
      found->insert(found->begin(), std::move(*root));
      return std::move(*found);
    }
    if (waited >= patience) break;
    pause(kBetween);
  }
  return Error(ErrorCode::kNotFound, concat("kubelet has made no cgroup for pod ", pod_uid,
                                            " below ", join(all_kubepods.front(), "/"), " of ",
                                            hierarchy.root, " within ", patience.count(), " ms"));
}

}  // namespace flexlocal::engine
