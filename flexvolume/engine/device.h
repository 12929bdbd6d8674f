// What a block device says of itself, read without starting a program.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"

namespace flexlocal::engine {

// What stands at the start of a device, as far as the decision to format needs it.
enum class Content {
  kBlank,       // no signature that is known here
  kIncomplete,  // our own mkfs was cut short: the superblock says that it is in progress
  kComplete,    // the file system of this very volume, complete
  kForeign      // anything else
};

// Reads the first `kSuperblockBytes` of a device. XFS: magic at 0, uuid at 32, sb_inprogress at
// 126 (xfsprogs, libxfs/xfs_format.h, struct xfs_dsb); mkfs.xfs clears sb_inprogress last.
// `uuid`: what mkfs was told to use, so that another tenant's remains are not taken for ours.
inline constexpr std::size_t kSuperblockBytes = 512;
Content classify_superblock(std::string_view start, std::string_view uuid);

// The interface to devices, so that a test can stand in for them.
class Devices {
 public:
  virtual ~Devices() = default;
  // device-mapper's uuid of the device node. kNotFound when the node is not there, kDenied when
  // it is no device-mapper device.
  virtual Result<std::string> mapper_uuid(const std::string& path) = 0;
  virtual Result<std::string> read_start(const std::string& path, std::size_t bytes) = 0;
  // "253:4", major and minor of the disk that the device node is, or is a partition of: the kernel
  // limits I/O on whole disks only (block/blk-cgroup.c, blkcg_conf_open_bdev).
  virtual Result<std::string> disk_number(const std::string& path) = 0;
};

class KernelDevices final : public Devices {
 public:
  Result<std::string> mapper_uuid(const std::string& path) override;
  Result<std::string> read_start(const std::string& path, std::size_t bytes) override;
  Result<std::string> disk_number(const std::string& path) override;
};

}  // namespace flexlocal::engine
