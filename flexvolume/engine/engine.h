// The volume engine: what the plugin and the node daemon can do with volumes on this node.
// Every operation may be called again after a success, a failure or a kill.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "flexvolume/base/log.h"
#include "flexvolume/engine/filesystem.h"
#include "flexvolume/engine/lvm.h"
#include "flexvolume/engine/mount_table.h"
#include "flexvolume/engine/node_config.h"
#include "flexvolume/engine/record.h"
#include "flexvolume/engine/volume_lock.h"

namespace flexlocal::engine {

// What of the host the engine stands on; injected, so that faults can be.
struct Host {
  CommandRunner& runner;
  Devices& devices;
  Mounter& mounter;
  Log& log;
  std::string record_folder{kRecordFolder};
  std::string lock_folder{kLockFolder};
  std::string tool_root{};  // see Tools
};

struct MountRequest {
  VolumeSpec spec;
  std::string folder;         // where kubelet wants it
  std::string pod_namespace;  // from kubelet, not from the pod's author
  bool read_only = false;
};

class Engine {
 public:
  Engine(const Host& host, const NodeConfig& config);

  // Makes the volume if it is not there yet, and mounts it with nodev, nosuid. Mounting what is
  // mounted there already is success. After a failure nothing is mounted and nothing that this
  // call made is left.
  //   kDenied: the volume is another claim's, or the pod is of another namespace
  //   kNoSpace: with what is free and what was asked
  //   kBusy: something else is mounted there
  //   kCorrupt: a person must look; nothing was formatted
  Status mount(const MountRequest& request);

  // Unmounts whatever is stacked on the folder. A folder that is not there, or not a mount, is
  // success: after its restart kubelet asks again for what is long gone.
  Status unmount(const std::string& folder);

  // Removes the volume and its record. kDenied unless owner, cluster and claim match; kBusy while
  // the device is open; kUnavailable when its volume group is not to be seen, since "not found"
  // on a missing disk is no proof; kInvalid when node.conf gives the pool another group than the
  // volume is on. A volume that is gone is success.
  Status remove(const VolumeSpec& spec);

  // All of the node's groups and our volumes: two LVM commands.
  Result<Inventory> inventory();

  // Brings records and tags together: `ready` of a record is copied into the LV's tags, and a
  // host that lost its records gets those of ready volumes back.
  Status settle(const Inventory& inventory);

 private:
  Result<std::optional<LogicalVolume>> find_to_remove(const VolumeSpec& spec,
                                                      const std::string& group);
  Status mount_on(const MountRequest& request, const std::string& device);
  Status settle_volume(const LogicalVolume& volume);

  Host host_;
  const NodeConfig& config_;
  Tools tools_;
  Lvm lvm_;
  Filesystems filesystems_;
  RecordStore records_;
};

}  // namespace flexlocal::engine
