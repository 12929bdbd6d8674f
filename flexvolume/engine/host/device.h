// What a block device says of itself, read without starting a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/volume_kinds.h"
#include "flexvolume/engine/contract/volume_name.h"

namespace flexlocal::engine {

// What stands at the start of a device, as far as the decision to format needs it.
enum class Content {
  kBlank,       // no signature that is known here
  kIncomplete,  // our own mkfs was cut short: the superblock says that it is in progress
  kComplete,    // the file system of this very volume, complete
  kForeign      // anything else
};

// Reads the first `kSuperblockBytes` of a device. `uuid`: what mkfs was told to use, so that
// another tenant's remains are not taken for ours.
// XFS: magic at 0, uuid at 32, sb_inprogress at 126 (xfsprogs, libxfs/xfs_format.h, struct
// xfs_dsb); mkfs.xfs clears sb_inprogress last.
// ext4: magic at 1080, uuid at 1128 (e2fsprogs, lib/ext2fs/ext2_fs.h, struct ext2_super_block);
// mke2fs clears the place first and writes the superblock last (lib/ext2fs/closefs.c).
inline constexpr std::size_t kSuperblockBytes = 2048;
inline constexpr std::size_t kExtAt = 1024;  // where ext4 has its own
Content classify_superblock(std::string_view start, FsType type, std::string_view uuid);

// How much of its device the XFS or ext4 uses that such a start is of; 0 where it is of neither.
// XFS: sb_blocksize at 4, sb_dblocks at 8. ext4, from 1024 on: s_blocks_count at 4 and, with the
// feature 64bit (0x80 of the word at 96), its upper half at 336, s_log_block_size at 24.
Bytes file_system_size(std::string_view start);

// Whether the ext4 that such a start is of has no inodes in use but mke2fs's own, and has noted no
// error. From 1024 on (fs/ext4/ext4.h, struct ext4_super_block): s_inodes_count at 0,
// s_free_inodes_count at 16, both as the last unmount left them, s_state at 58, in which 2 is
// EXT4_ERROR_FS. mke2fs's own are those before s_first_ino, at 84; lost+found; and one each where
// s_prj_quota_inum, at 620, and s_orphan_file_inum, at 640, name it.
bool is_pristine_ext4(std::string_view start);

// What the kernel has of a device-mapper device, whatever LVM's metadata say.
struct MapperState {
  Bytes size;
  bool suspended = false;  // whoever reads or writes it waits
};

struct MapperDevice {
  std::string name;  // device-mapper's, such as "data-pvc--1"
  std::string uuid{};
  Bytes size{};
};

// Whether the ext4 that such a start is of ends where one of its block groups does: then the rest
// of its device may have been too little for another. s_first_data_block at 20 from 1024 on,
// s_blocks_per_group at 32.
bool ends_with_a_group(std::string_view start);

// The interface to devices, so that a test can stand in for them.
class Devices {
 public:
  virtual ~Devices() = default;
  // device-mapper's uuid of the device node. kNotFound when the node is not there, or is left of a
  // device that is gone; kDenied when it is no device-mapper device.
  virtual Result<std::string> mapper_uuid(const std::string& path) = 0;
  // As for mapper_uuid (Documentation/ABI/testing/sysfs-block-dm). It does not touch the device.
  virtual Result<MapperState> mapper_state(const std::string& path) = 0;
  // All of device-mapper's devices.
  virtual Result<std::vector<MapperDevice>> mapper_devices() = 0;
  // The names of those that are suspended: looked for each second.
  virtual Result<std::vector<std::string>> suspended_devices() = 0;
  // Whether one of these device-mapper devices is suspended, or has a table that the next resume
  // takes up. Those that are gone by now have neither.
  virtual Result<bool> has_unfinished(const std::vector<std::string>& names) = 0;
  // Fewer bytes than asked at the device's end, none behind it.
  virtual Result<std::string> read(const std::string& path, Bytes offset, std::size_t bytes) = 0;
  // The same past the kernel's memory, which may be older than the disk: LVM writes past it, and a
  // disk may have several paths.
  virtual Result<std::string> read_direct(const std::string& path, Bytes offset,
                                          std::size_t bytes) = 0;
  // What the kernel has of it in memory, as it has the superblock of a mounted ext4: nothing waits,
  // also not for a device that is suspended. kUnavailable where not all of it is there.
  virtual Result<std::string> read_cached(const std::string& path, Bytes offset,
                                          std::size_t bytes) = 0;
  // "253:4", major and minor of the disk that the device node is, or is a partition of: the kernel
  // limits I/O on whole disks only (block/blk-cgroup.c, blkcg_conf_open_bdev).
  virtual Result<std::string> disk_number(const std::string& path) = 0;
  // The one of these disks that a device of LVM's stands on alone, whatever LVM has in between.
  // kNotFound where it stands on several, or on another.
  virtual Result<std::string> only_disk_of(const std::string& path,
                                           const std::vector<std::string>& disks) = 0;
  // Makes the ext4 that is mounted there, and can be written to there, as large as its device is:
  // the call that resize2fs makes (EXT4_IOC_RESIZE_FS, fs/ext4/ioctl.c).
  virtual Status resize_ext4(const std::string& mount_point, Bytes size) = 0;
  // How much of its device the XFS that is mounted there uses (XFS_IOC_FSGEOMETRY_V1,
  // fs/xfs/libxfs/xfs_fs.h).
  virtual Result<Bytes> xfs_size(const std::string& mount_point) = 0;
};

class KernelDevices final : public Devices {
 public:
  // `root`: the folder under which the host's /dev is seen.
  explicit KernelDevices(std::string root = {}) : root_(std::move(root)) {}
  Result<std::string> mapper_uuid(const std::string& path) override;
  Result<MapperState> mapper_state(const std::string& path) override;
  Result<std::vector<MapperDevice>> mapper_devices() override;
  Result<std::vector<std::string>> suspended_devices() override;
  Result<bool> has_unfinished(const std::vector<std::string>& names) override;
  Result<std::string> read(const std::string& path, Bytes offset, std::size_t bytes) override;
  Result<std::string> read_direct(const std::string& path, Bytes offset,
                                  std::size_t bytes) override;
  Result<std::string> read_cached(const std::string& path, Bytes offset,
                                  std::size_t bytes) override;
  Result<std::string> disk_number(const std::string& path) override;
  Result<std::string> only_disk_of(const std::string& path,
                                   const std::vector<std::string>& disks) override;
  Status resize_ext4(const std::string& mount_point, Bytes size) override;
  Result<Bytes> xfs_size(const std::string& mount_point) override;

 private:
  std::string root_;
};

}  // namespace flexlocal::engine
