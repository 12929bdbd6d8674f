// The shared file system that is ours to make: an XFS on a logical volume of the pool's group, for
// a pool with quota-size in node.conf. It is made, found and grown as a claim's volume is.
#pragma once

#include <optional>
#include <string>

#include "flexvolume/engine/lvm/lv_parts.h"
#include "flexvolume/engine/quota/shared_file_system.h"
#include "flexvolume/engine/volume/volume_backend.h"

namespace flexlocal::engine {

// For one call. Tools run in the host's mount namespace.
class SharedVolume {
 public:
  SharedVolume(const BackendParts& parts, const std::string& pool_name, const Pool& pool);

  // The file system, mounted; after a reboot it is mounted again. Nothing when there is none yet
  // and `make` does not want one. kNoSpace with figures; kDenied when the name is a stranger's;
  // kCorrupt when it held data and is gone, or cannot be read.
  Result<std::optional<SharedMount>> ensure(bool make);

  // Of what the inventory has of it: the tag `ready` where only the record says so, and as large as
  // node.conf says by now, mounted or not; what was begun and killed is completed. It never
  // shrinks. `promised`: of its group, to claims; kNoSpace when the rest does not suffice.
  Status settle(const LogicalVolume& volume, Bytes promised);

 private:
  Result<std::optional<SharedMount>> find_mounted();
  Result<std::optional<VolumeSpec>> find_spec(bool make);
  Result<std::optional<VolumeSpec>> find_unrecorded(bool make);
  Result<std::optional<SharedMount>> set_up(const VolumeSpec& spec, int lock);
  Status resume();
  void tag_ready();
  Status tag_ready(const LogicalVolume& volume);
  Status check_room(const LogicalVolume& volume, Bytes promised);
  Status mount(int lock);
  LvParts lv_parts();

  RecordStore records_;
  BackendParts parts_;  // with the pools' records
  const std::string& pool_name_;
  const Pool& pool_;
  VolumeName name_;     // of logical volume and record
  std::string device_;  // its path
  std::string path_;    // where it is mounted
  Lvm lvm_;
  Filesystems filesystems_;
};

// What a file system of this size that is not made yet will surely offer: less the log and what XFS
// keeps for itself (mkfs.xfs has logs of 64 MiB to 2 GiB, one 2048th; reserves a few percent).
Bytes surely_offered(Bytes size);

}  // namespace flexlocal::engine
