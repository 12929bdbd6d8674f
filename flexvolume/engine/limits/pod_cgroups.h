// Where a pod's block I/O is controlled: the host's cgroup hierarchy, and the pod's cgroup in it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/engine/host/mount_table.h"
#include "flexvolume/engine/limits/cgroup.h"

namespace flexlocal::engine {

enum class CgroupVersion { kV1, kV2 };

struct IoHierarchy {
  CgroupVersion version;
  std::string root;  // as this process sees it
};

// By the host's mount table: a v1 hierarchy with `blkio` wherever it is mounted, else cgroup2. On a
// hybrid host both are there, and then v1 has the controller: the kernel offers it in one only.
// `host_root`: see Host::tool_root. kNotFound, with what to do, when there is neither.
Result<IoHierarchy> find_io_hierarchy(const std::vector<MountEntry>& table,
                                      std::string_view host_root);

// A uuid, or for a static pod the 32 hexadecimal digits of its manifest's hash (kubelet,
// pkg/kubelet/config/common.go, applyDefaults). Nothing else ever names a pod's cgroup.
bool is_pod_uid(std::string_view text);

// Which pod a process belongs to, by its /proc/<pid>/cgroup; nothing for a process of no pod. The
// first place that can be a pod's counts: what is below it, the pod's own processes may have made.
std::optional<std::string> find_pod_uid(std::string_view cgroups);

using CgroupNames = std::vector<std::string>;

// Whether kubelet keeps the cgroups of all pods below one with this name: "kubepods", or for the
// systemd driver "kubepods.slice" and, with a --cgroup-root, "kubelet-kubepods.slice".
bool is_kubepods(std::string_view name);

// Where below such a cgroup the pod's own is: for a guaranteed, a burstable and a best-effort pod
// (kubelet, pkg/kubelet/cm/pod_container_manager_linux.go; ToSystemd in cgroup_manager_linux.go
// for how slices are named).
std::vector<CgroupNames> pod_places(std::string_view kubepods, std::string_view pod_uid);

// The cgroups from the hierarchy's root down to the pod's own.
using PodCgroup = std::vector<Cgroup>;

// Waits for so long; injected, so that a test need not.
using Pause = std::function<void(std::chrono::milliseconds)>;
void sleep_for(std::chrono::milliseconds time);

// kubelet makes the pod's cgroup while it already calls for the pod's volumes, so it may be a
// moment late: it is looked for until `patience` has passed. A host where kubelet keeps no cgroups
// for pods at all is not waited for. kInvalid for a uid that cannot be one, else kNotFound.
Result<PodCgroup> find_pod_cgroup(const IoHierarchy& hierarchy, std::string_view pod_uid,
                                  std::chrono::milliseconds patience,
                                  const Pause& pause = sleep_for);

}  // namespace flexlocal::engine
