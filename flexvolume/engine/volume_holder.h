// Which pod has a volume that is for one pod at a time. It is judged by the mounts that are there,
// never by a note: a note would outlive a kill or a reboot, and keep the next pod away for ever.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/result.h"
#include "flexvolume/engine/host/mount_table.h"

namespace flexlocal::engine {

struct Holder {
  std::string pod_uid;
  std::string place;  // a mount point, or "/data of process 17"
};

// A volume's folder, as the mount table names it, has its pod's uid: kubelet made it.
std::string pod_uid_of(std::string_view folder);

// Another pod than the one of `folder`, for which kubelet has mounted the volume: in that pod's own
// folder of the volume, or as a container's subPath.
std::optional<Holder> find_holder(const std::vector<MountEntry>& table, const MountSource& source,
                                  std::string_view folder);

// The pod `last_uid`, if a container of it sees the volume although kubelet has no mount of it any
// more: kubelet unmounts a Lost claim's volume under the running pod, and a mount may have been
// taken off lazily. Only the pod that had the volume last can have kept it so. The mount tables of
// others are not read: whoever makes mounts chooses what they show and how long the table is, so
// a stranger could keep the volume from everybody. Copies of kubelet's own mounts, as a pod has
// that was given the host's file tree, are no use of the volume. Errors as visit_users().
Result<std::optional<Holder>> find_holder_elsewhere(const std::string& proc,
                                                    const MountSource& source,
                                                    const std::string& last_uid);

// kBusy. `name`: "namespace/name" of the pod that has it; empty when that is not known.
Error held_by_another(const Holder& holder, const std::string& name);

}  // namespace flexlocal::engine
