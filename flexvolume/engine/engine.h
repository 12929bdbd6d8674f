// The volume engine: what the plugin and the node daemon can do with volumes on this node.
// Every operation may be called again after a success, a failure or a kill.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flexvolume/base/log.h"
#include "flexvolume/engine/admission.h"
#include "flexvolume/engine/contract/pod_names.h"
#include "flexvolume/engine/host/mount_table.h"
#include "flexvolume/engine/host/node_config.h"
#include "flexvolume/engine/limits/io_limiter.h"
#include "flexvolume/engine/lvm/lv_backend.h"
#include "flexvolume/engine/lvm/rollback_guard.h"
#include "flexvolume/engine/quota/project_folders.h"
#include "flexvolume/engine/quota/quota_backend.h"
#include "flexvolume/engine/volume/copy_records.h"
#include "flexvolume/engine/volume/init_mark.h"
#include "flexvolume/engine/volume/record.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {

// What of the host the engine stands on; injected, so that faults can be.
struct Host {
  CommandRunner& runner;
  Devices& devices;
  Mounter& mounter;
  Log& log;
  std::string record_folder{kRecordFolder};
  std::string lock_folder{kLockFolder};
  std::string tool_root{};  // see Tools and BackendParts
  std::string counter_folder{kCounterFolder};
  std::string group_folder{kGroupFolder};
  std::string proc = "/proc";  // where the host's processes are listed
};

struct MountRequest {
  VolumeCall volume;
  std::string folder;         // where kubelet wants it
  std::string pod_namespace;  // from kubelet, not from the pod's author
  std::string pod_uid;
  bool read_only = false;
  std::string pod_name{};  // for people
};

struct GrowRequest {
  VolumeCall volume;
  Bytes size;
};

class Engine {
 public:
  Engine(const Host& host, const NodeConfig& config);

  // For the daemon, at its start: from now on volumes of other clusters are not mounted here.
  // Before the first time nobody knows which cluster the host is of, and its records say it alone.
  Status join_cluster(const std::string& cluster_id);

  // Makes the volume if it is promised and not there yet, and mounts it with nodev, nosuid.
  // Mounting what is mounted there already is success. After a failure nothing is mounted and
  // nothing that this call made is left.
  // It goes by the host's record alone.
  //   kDenied: another copy than the record's, or a pod of another namespace
  //   kNoSpace: with what is free and what was asked
  //   kBusy: something else is mounted there, or the volume is for one pod at a time and another
  //   has it: a second pod gets it as soon as the first one's mount is gone
  //   kCorrupt: a person must look; nothing was formatted
  //   kNotFound: there is no record of it
  //   kUnavailable: it is retained, or for no claim; or the class requires I/O limits that this
  //   host cannot set
  Status mount(const MountRequest& request);

  // For the daemon, ahead of the first pod: makes the promised volume, or finds it. Errors as
  // mount(), which then has nothing left to make.
  Status make(const VolumeCall& call);

  // Unmounts whatever is stacked on the folder. A folder that is not there, or not a mount, is
  // success: after its restart kubelet asks again for what is long gone. kBusy when the device is
  // suspended and cannot be resumed: the call could wait for ever.
  Status unmount(const std::string& folder);

  // Makes an existing volume offer `size`, under running pods or without any. A volume that offers
  // as much already is success; less is kInvalid. kNoSpace, with figures, when the pool has not
  // enough: the volume is then as it was. kNotFound while the volume has not been made: its first
  // mount makes it.
  Status grow(const GrowRequest& request);
  // For the daemon: what orders change in records alone.
  const CopyRecords& copies() const { return copies_; }

  // For the daemon, before it promises such a volume: kNotFound, naming the first program that is
  // needed to make it and is not on this node.
  Status check_tools(const VolumeSpec& spec) const;

  // For the daemon, which decided the spec itself.
  Status grow(const VolumeSpec& spec, Bytes size);

  // Removes the volume and its record, once its blocks are wiped as its tags say; see Removal. From
  // the first call on no pod mounts it, also where it is refused then.
  // kDenied unless owner, cluster and claim match; kBusy while it is in use; kUnavailable when its
  // volume group is not to be seen, since "not found" on a missing disk is no proof; kInvalid when
  // node.conf gives the pool another group than the volume is on, or it has another name by now;
  // kCorrupt when LVM does not know it and its device is there. kBusy also while it has a snapshot
  // of an administrator's, or a cache that keeps what wiping writes. A volume that is gone is done.
  Result<Removal> remove(const VolumeSpec& spec);

  // As remove(), of a volume that no pod ever had. kConflict, and nothing is removed, when one may
  // have had it: by its record, or by what is in it, which the record then says from now on.
  // Records may be put back to before a pod came; a file stays.
  Result<Removal> remove_unused(const VolumeSpec& spec);

  // For the daemon, before it lets go of a PersistentVolume whose policy keeps the data (kYes), and
  // when one stands for the volume again (kNo). It lasts as long as the volume: from then on its
  // data is known to be kept on purpose. A volume that was never made has none. Errors as remove().
  Status set_retained(const VolumeSpec& spec, Retained retained);

  // The node's groups, but for those without a volume that are in no pool, our volumes, what is
  // promised and what is retained, and the space of every pool of node.conf that is to be seen: one
  // LVM command, another where a pool's group has no volume yet, and one for each thin pool and
  // each file system with quotas.
  Result<Inventory> inventory();

  // Whether `heads`, an inventory's, are the metadata of the pools' groups now: then it would say
  // the same once more of groups, spaces, and of which volumes there are; not of what is open. No
  // program is started. False also where that is not known.
  bool is_as_seen(const std::map<std::string, MetadataHead>& heads) {
    return lv_backend_.is_as_seen(heads, config_);
  }

  // Brings records and tags together: `ready` of a record is copied into the LV's tags, and a
  // host that lost its records gets those of ready volumes back. What killed LVM commands left of
  // volumes' devices is finished, see suspension.h, and so is the growth of a mounted volume whose
  // record calls its file system behind. A pool's shared file system grows to what node.conf says
  // by now.
  Status settle(const Inventory& inventory);

  // Resumes what of ours is suspended: a killed LVM command leaves a volume, or a thin pool with
  // all of its volumes, without I/O, and nobody else ends that. Cheap while nothing is, and to be
  // called every second or so. Volumes without our owner tag are left alone, but for the pools'
  // thin pools.
  Status resume_suspended();

  // Keeps the I/O limits of mounted volumes on what has appeared in their pods since; cheap, and to
  // be called every second or so: see IoLimiter::refresh.
  Status refresh_io_limits();
  // Which version of the plugin kubelet called last: see read_init_mark(). At once, from memory.
  Result<InitMark> init_mark() const { return read_init_mark(host_.lock_folder); }
  // What pods that mounted the volume since the last reboot may do to its device.
  Result<IoLimits> io_limits(const VolumeName& name) const { return io_limiter_.remembered(name); }

 private:
  // What a call works on once it is allowed to.
  struct Subject {
    const VolumeSpec& spec;
    Pool pool;
    VolumeBackend& backend;
    FileLock lock;
  };
  Result<Removal> remove(const Subject& subject, const std::optional<Record>& record);
  Status close(Record record, const VolumeSpec& spec) const;
  Status note_use(const VolumeName& name) const;
  Status check_unchanged(const MountRequest& request, const Record& seen) const;
  Result<Subject> subject(const VolumeSpec& spec);
  Status add_records(Inventory& inventory) const;
  Status resume_below(const std::vector<MountEntry>& table, const MountEntry& mounted);
  Status mount_on(const MountRequest& request, const MountSource& source, const VolumeSpec& spec);
  Status take_for_one_pod(const MountRequest& request, const MountSource& source,
                          const std::vector<MountEntry>& table, const std::string& folder);

  Host host_;
  const NodeConfig& config_;
  Tools tools_;
  RecordStore records_;
  BackendParts parts_;
  LvBackend lv_backend_;
  KernelProjectFolders project_folders_;
  QuotaBackend quota_backend_;
  IoLimiter io_limiter_;
  Admission admission_;
  CopyRecords copies_;
  PodNames pod_names_;
};

}  // namespace flexlocal::engine
