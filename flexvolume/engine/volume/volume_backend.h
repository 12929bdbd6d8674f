// What a volume is made of, as the engine sees it: logical volumes and quota folders are made,
// grown and removed in their own ways, and mounted in the same one.
#pragma once

#include "flexvolume/base/log.h"
#include "flexvolume/base/program.h"
#include "flexvolume/engine/host/device.h"
#include "flexvolume/engine/host/mount_table.h"
#include "flexvolume/engine/host/node_config.h"
#include "flexvolume/engine/host/tools.h"
#include "flexvolume/engine/volume/record.h"

namespace flexlocal::engine {

// What every backend works with. `locks`: the folder of the lock files; `groups`: of what is known
// of volume groups, see rollback_guard.h.
struct BackendParts {
  CommandRunner& runner;
  const Tools& tools;
  Devices& devices;
  Mounter& mounter;
  const RecordStore& records;
  std::string locks;
  std::string groups;
  Log& log;
  std::string root{};  // where the host's file tree is seen; empty: this process sees it itself
};

// How far a removal has come. One call removes what it can in a few seconds; until `done` the
// caller calls again, and the space is not free.
struct Removal {
  bool done = true;
  Bytes wiped;  // of `size`; meaningful until done
  Bytes size;
};

// Every call is for one volume, whose lock is held, and may be repeated after a success, a failure
// or a kill. Errors are those of Engine's call of the same name.
class VolumeBackend {
 public:
  virtual ~VolumeBackend() = default;

  // Finds the volume or makes it. After a failure nothing that this call made is left. `lock`: the
  // descriptor of the volume's lock, for programs that must not run twice at once.
  virtual Result<MountSource> make(const VolumeSpec& spec, const Pool& pool, int lock) = 0;

  // The volume is mounted now: completes what a growth could not do while it was not, or only
  // read-only. Called after a mount whose source said `file_system_behind`.
  virtual Status finish_growth(const VolumeSpec& spec) = 0;

  // Makes the volume offer `size`, mounted or not.
  virtual Status grow(const VolumeSpec& spec, const Pool& pool, Bytes size, int lock) = 0;

  // Whether no file is in it, by what is on the disk now. True of what is not there, and of what
  // has no file system yet. kBusy while it is in use; kCorrupt where its file system cannot be
  // read.
  virtual Result<bool> is_empty(const VolumeSpec& spec, const Pool& pool, const FileLock& lock) = 0;

  virtual Result<Removal> remove(const VolumeSpec& spec, const Pool& pool) = 0;

  virtual Status set_retained(const VolumeSpec& spec, const Pool& pool, Retained retained) = 0;
};

}  // namespace flexlocal::engine
