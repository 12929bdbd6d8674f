// The words of a volume's contract: what it is made of, what it is limited to, how it goes.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"

namespace flexlocal::engine {

// What a volume is made of.
enum class Backend {
  kLvm,   // a thick logical volume of its own
  kThin,  // a thin logical volume of its own, in the pool's thin pool
  kQuota  // a folder with a project quota on the pool's shared XFS
};
// Else it is a device of its own.
constexpr bool is_folder(Backend backend) { return backend == Backend::kQuota; }
enum class FsType { kXfs, kExt4 };
// What becomes of a volume's blocks before its space is offered again.
enum class OnDelete {
  kDiscard,  // discarded; written over with zeros where the device cannot
  kZero,     // written over with zeros
  kNone      // left as they are
};

// How many pods may have the volume at once. Nodes are not counted: it is on one.
enum class AccessMode { kReadWriteOnce, kReadWriteOncePod };

std::string_view to_string(Backend backend);
std::string_view to_string(FsType type);
std::string_view to_string(OnDelete wipe);
std::string_view to_string(AccessMode mode);  // as the API server spells it
// kInvalid names what is accepted.
Result<Backend> parse_backend(std::string_view text);
Result<FsType> parse_fs_type(std::string_view text);
Result<OnDelete> parse_on_delete(std::string_view text);
Result<AccessMode> parse_access_mode(std::string_view text);

// The smallest volume of each kind. mkfs.xfs refuses less than 300 MiB since xfsprogs 5.19
// (mkfs/xfs_mkfs.c, validate_supported); a folder has no minimum but what holds a few files.
Bytes smallest(Backend backend, FsType type);
// kInvalid, with advice, for a volume that is smaller.
Status check_size(Backend backend, FsType type, Bytes size);

// What a pod that mounts the volume may do to its device in a second; 0: no limit.
struct IoLimits {
  std::uint64_t read_iops = 0;
  std::uint64_t write_iops = 0;
  Bytes read_bandwidth;
  Bytes write_bandwidth;
  bool required = false;  // a mount that cannot be limited fails; otherwise it is warned about

  bool any() const {
    return read_iops != 0 || write_iops != 0 || read_bandwidth.count() != 0 ||
           write_bandwidth.count() != 0;
  }
  bool operator==(const IoLimits&) const = default;
};

// The mount options that a class may ask for: none of them weakens nodev, nosuid or the quota.
// kInvalid, listing what is accepted, for any other, and for `discard` on a quota folder, whose
// file system is shared.
Status check_mount_option(Backend backend, std::string_view option);

}  // namespace flexlocal::engine
