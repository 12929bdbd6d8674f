// The shared file system that is ours to make: an XFS on a logical volume of the pool's group, for
// a pool with quota-size in node.conf.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flexvolume/base/fd.h"
#include "flexvolume/engine/lvm/lvm_report.h"
#include "flexvolume/engine/quota/shared_file_system.h"
#include "flexvolume/engine/volume/volume_backend.h"

namespace flexlocal::engine {

inline constexpr std::string_view kPoolFolder = "/run/flexlocal-pools";

// What is known of the logical volume.
struct SharedLv {
  std::string uuid;
  bool ours = false;   // its tags name this pool
  bool ready = false;  // its file system was complete; before that it was never mounted
  bool active = false;
};

// What to do next; a pure decision. A volume that is ours and not ready has never held data,
// whatever stands on it: it is removed and made anew.
enum class SharedStep { kNothing, kCreate, kRemoveUnready, kActivate, kMount, kRefuseForeign };
SharedStep next_step(const std::optional<SharedLv>& volume, bool make);

// Of `lvs --reportformat json`. kCorrupt when it is not that.
Result<std::optional<SharedLv>> parse_shared_lv(std::string_view report,
                                                const std::string& pool_name);

// For one call. Tools run in the host's mount namespace.
class SharedVolume {
 public:
  SharedVolume(const BackendParts& parts, const std::string& pool_name, const Pool& pool);

  // The file system, mounted; after a reboot it is mounted again. Nothing when there is none yet
  // and `make` does not want one. kNoSpace with figures; kDenied when the name is a stranger's.
  Result<std::optional<SharedMount>> ensure(bool make);

 private:
  Result<std::optional<SharedMount>> find_mounted();
  Result<std::optional<SharedMount>> set_up(bool make, int lock);
  Result<std::optional<SharedLv>> look_up();
  Status carry_out(SharedStep step, const std::optional<SharedLv>& volume, int lock);
  Status create(int lock);
  Status explain_failed_create(const Error& error);
  Status make_file_system(int lock);
  Status remove(const SharedLv& volume);
  Status activate(const SharedLv& volume);
  LogicalVolume as_logical_volume(const SharedLv& volume) const;  // as far as LVM needs to know it
  Status mount(int lock);
  Result<std::string> run(std::string_view tool, std::vector<std::string> arguments,
                          const std::vector<int>& keep = {});

  BackendParts parts_;
  const std::string& pool_name_;
  const Pool& pool_;
  std::string name_;    // of the logical volume
  std::string device_;  // its path
  std::string path_;    // where it is mounted
};

// What a file system of this size that is not made yet will surely offer: less the log and what XFS
// keeps for itself (mkfs.xfs has logs of 64 MiB to 2 GiB, one 2048th; reserves a few percent).
Bytes surely_offered(Bytes size);

}  // namespace flexlocal::engine
