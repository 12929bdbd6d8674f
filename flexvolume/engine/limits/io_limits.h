// The kernel's limits on a device for a cgroup: how they are read, and how they are set.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/volume_kinds.h"
#include "flexvolume/engine/limits/pod_cgroups.h"

namespace flexlocal::engine {

// What a cgroup's io.max says of a device ("253:4"): "253:4 rbps=max wbps=1048576 riops=max
// wiops=100" (Documentation/admin-guide/cgroup-v2.rst). A device that is not there has no limits.
IoLimits parse_io_max(std::string_view content, std::string_view device);

// As io.max takes it; a limit that there is none of is left out, and stays as it is.
std::string to_io_max(std::string_view device, const IoLimits& limits);

// What one of the four blkio.throttle.*_device says: "253:4 1048576"
// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst). 0: no limit.
std::uint64_t parse_throttle(std::string_view content, std::string_view device);

// The lower of each two. A cgroup has one limit for a device, and several may want one: two quota
// folders of a pod that are on one disk, or the container's runtime. What is there is therefore
// never loosened, and the order in which limits come does not matter.
IoLimits tightened(const IoLimits& present, const IoLimits& wanted);

// Limits what the pod may do to the device. Repeatable; costs a few reads when all is as wanted.
//
// v2: the kernel adds up what all cgroups below the pod's do, so once is enough, as long as the
// controller stays enabled. Where it is not, it is enabled in the ancestors, which is what a
// container's runtime does as well (runc, libcontainer/cgroups/fs2/create.go); systemd may take it
// away again from a slice that no unit of its own limits.
//
// v1: the kernel looks at each cgroup alone (block/blk-throttle.c, throtl_pd_init: a parent counts
// only on the default hierarchy). So every cgroup below the pod's is limited too, each to the whole
// limit: a pod of two containers may do twice as much. One that appears later has no limit until
// the next call. What goes through the page cache is written back by the kernel's own threads and
// is not limited at all; on v2 it is.
//
// kNotFound when the pod's cgroup or the device is gone, kUnavailable when the kernel offers no
// such controller there.
Status limit_pod(CgroupVersion version, const PodCgroup& pod, std::string_view device,
                 const IoLimits& limits);

}  // namespace flexlocal::engine
