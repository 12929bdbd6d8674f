// The I/O limits of volumes, kept on the pods that mount them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "flexvolume/base/log.h"
#include "flexvolume/engine/contract/contract.h"
#include "flexvolume/engine/host/device.h"
#include "flexvolume/engine/host/mount_table.h"
#include "flexvolume/engine/limits/io_limits.h"
#include "flexvolume/engine/volume/durable_counter.h"

namespace flexlocal::engine {

// What the limiter works with. `state`: a folder that a reboot empties, as it does the cgroups: one
// small file for each volume whose class has limits, "253:4 rbps=1048576".
struct LimiterParts {
  Mounter& mounter;
  Devices& devices;
  Log& log;
  std::string host_root;  // see Host::tool_root
  std::string state;
  DurableCounter not_applied;
  Pause pause = sleep_for;
};

// Where one pod is limited.
struct LimitedPod {
  CgroupVersion version;
  PodCgroup cgroup;
};

class IoLimiter {
 public:
  explicit IoLimiter(LimiterParts parts) : parts_(std::move(parts)) {}

  // kNotFound when there is no such place, or none within two seconds; kInvalid for a uid that
  // cannot be one.
  Result<LimitedPod> find(const std::string& pod_uid) const;

  // Keeps for refresh() what the volume's pods may do to its device.
  Status remember(const VolumeName& volume, const std::string& disk, const IoLimits& limits) const;
  // What remember() keeps; no limits when it keeps nothing.
  Result<IoLimits> remembered(const VolumeName& volume) const;
  // The volume is gone. Nothing depends on it: what stays is a few bytes until the next reboot.
  void forget(const VolumeName& volume) const;

  // Limits again, for every volume that is mounted and has limits, what has appeared since: on
  // cgroup v1 the containers, which are made after their pod's volumes are mounted; a pod's cgroup
  // that came too late for its mount; on v2 a controller that was switched off and on. Between a
  // container's start and the next call it is not limited on v1: call every second or so. Reads
  // the mount table and, for each volume with limits, a few small files; writes only what differs.
  // One volume in trouble does not keep the others from it; the first trouble is returned.
  Status refresh() const;

  const LimiterParts& parts() const { return parts_; }

 private:
  Status refresh_one(const IoHierarchy& hierarchy, const VolumeName& volume,
                     const std::string& pod_uid) const;
  std::string path_of(const VolumeName& volume) const;
  LimiterParts parts_;
};

// The limits of one call of mount, in the order of its steps. Does nothing for a volume without.
// Limits that the class does not require never make a step fail.
class MountLimits {
 public:
  MountLimits(const IoLimiter& limiter, const VolumeSpec& spec, std::string pod_uid)
      : limiter_(limiter), spec_(spec), pod_uid_(std::move(pod_uid)) {}

  // Before anything is made: kUnavailable when the class requires limits and there is nowhere to
  // set them.
  Status find();
  // Before the mount appears, so that nothing in the pod ever finds the volume without its limits.
  Status apply(const std::string& device);
  // The volume is mounted: warns and counts when that is without its limits.
  void conclude() const;

 private:
  Status settle(const Status& outcome);
  Status limit(const std::string& device);

  const IoLimiter& limiter_;
  const VolumeSpec& spec_;
  std::string pod_uid_;
  std::optional<LimitedPod> pod_;
  std::optional<Error> trouble_;
};

}  // namespace flexlocal::engine
