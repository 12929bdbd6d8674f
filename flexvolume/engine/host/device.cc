#include "flexvolume/engine/host/device.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/mapper_control.h"

namespace flexlocal::engine {
namespace {

constexpr std::size_t kUuidBytes = 16;
constexpr std::size_t kXfsUuidAt = 32;
constexpr std::size_t kXfsInProgressAt = 126;
constexpr std::size_t kExtMagicAt = 1080;
constexpr std::size_t kExtUuidAt = 1128;
constexpr std::string_view kExtMagic = "\x53\xef";

// fs/xfs/libxfs/xfs_fs.h, struct xfs_fsop_geom_v1: what is not named here is not looked at.
struct XfsGeometry {
  std::uint32_t block_size;
  std::uint32_t others[7];
  std::uint64_t data_blocks;
  std::uint64_t rest[9];
};
static_assert(sizeof(XfsGeometry) == 112);
constexpr unsigned long kXfsGeometry = _IOR('X', 100, XfsGeometry);

constexpr unsigned long kResizeExt4 = _IOW('f', 16, std::uint64_t);  // fs/ext4/ext4.h

constexpr std::string_view kBlockDevices = "/sys/dev/block/";
constexpr const char* kDisks = "/sys/block";
constexpr std::string_view kMapper = "/dev/mapper/";
constexpr std::uint64_t kSectorBytes = 512;  // of its size, whatever the disk's own are

constexpr std::size_t kUsualBlock = 4096;
constexpr std::size_t kLargestBlock = 65536;  // that the kernel takes (include/linux/blkdev.h)

// How much there was: less at the device's end.
Result<std::size_t> read_at(const UniqueFd& fd, const std::string& path, Bytes offset, char* into,
                            std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(fd.get(), into + done, bytes - done, static_cast<off_t>(offset.count() + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, concat("reading ", path));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

// Whole blocks to an aligned place, as direct I/O wants it (man open, O_DIRECT).
Result<std::string> read_blocks(const std::string& path, Bytes offset, std::size_t bytes,
                                std::size_t block) {
  const auto fd = open_file(path, O_RDONLY | O_DIRECT);
  if (!fd) return fd.error();
  const std::size_t before = offset.count() % block;
  const std::size_t whole = (before + bytes + block - 1) / block * block;
  const std::unique_ptr<char, decltype(&std::free)> into(
      static_cast<char*>(std::aligned_alloc(block, whole)), std::free);
  if (!into) return Error::from_errno(ENOMEM, concat("reading ", path));
  const auto done = read_at(*fd, path, Bytes(offset.count() - before), into.get(), whole);
  if (!done) return done.error();
  if (*done <= before) return std::string();
  return std::string(into.get() + before, std::min(bytes, *done - before));
}

Result<std::string> device_number(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return Error::from_errno(errno, concat("looking at ", path));
  if (!S_ISBLK(status.st_mode))
    return Error(ErrorCode::kDenied, concat(path, " is not a block device"));
  return concat(major(status.st_rdev), ':', minor(status.st_rdev));
}

// The folder of the device-mapper device that the path leads to. Where no udev keeps the nodes, a
// killed LVM command leaves one that leads nowhere, or to the device that has its number now.
Result<std::string> mapper_folder(const std::string& root, const std::string& path) {
  const auto number = device_number(root + path);
  if (!number) return number.error();
  std::string folder = concat(kBlockDevices, *number);
  const auto name = read_file(folder + "/dm/name", kKiB);
  if (!name && name.error().code() != ErrorCode::kNotFound) return name.error();
  std::error_code unknown;
  if (!name && std::filesystem::exists(folder, unknown))
    return Error(ErrorCode::kDenied, concat(path, " is not a device-mapper device"));
  const bool named = path.starts_with(kMapper);
  if (!name || (named && trim(*name) != std::string_view(path).substr(kMapper.size())))
    return Error(ErrorCode::kNotFound, concat(path, " is left of a device that is gone"));
  return folder;
}

// Of a disk's folder in sysfs.
Result<Bytes> size_of(const std::string& folder) {
  const auto sectors = read_file(concat(folder, "/size"), kKiB);
  if (!sectors) return sectors.error();
  unsigned long long count = 0;
  if (!parse_number(trim(*sectors), kMostBytes.count() / kSectorBytes, count))
    return Error(ErrorCode::kCorrupt, concat(folder, "/size is no count of sectors"));
  return Bytes(count * kSectorBytes);
}

std::uint64_t little_endian(std::string_view start, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 4; i-- > 0;)
    number = number << 8U | static_cast<unsigned char>(start[at + i]);
  return number;
}

bool is_ext(std::string_view start) {
  return start.size() >= kSuperblockBytes &&
         start.substr(kExtMagicAt, kExtMagic.size()) == kExtMagic;
}

std::uint64_t ext_blocks(std::string_view start) {
  constexpr std::uint64_t kWide = 0x80;
  const bool wide = (little_endian(start, kExtAt + 96) & kWide) != 0;
  const std::uint64_t upper = wide ? little_endian(start, kExtAt + 336) : 0;
  return upper << 32U | little_endian(start, kExtAt + 4);
}

// The kernel's folder of each; it may be of another kind, or gone by now.
Status for_each_disk(const std::function<void(const std::string&)>& look) {
  std::error_code failed;
  for (std::filesystem::directory_iterator disk(kDisks, failed), end; !failed && disk != end;
       disk.increment(failed))
    look(disk->path().native());
  return failed ? Status(Error::from_errno(failed.value(), concat("looking at ", kDisks)))
                : Status();
}

// Adds the numbers of the disks that it stands on (Documentation/ABI/stable/sysfs-block, slaves),
// below LVM's own devices. `levels`: LVM has fewer.
Status add_disks_below(const std::string& folder, std::set<std::string>& numbers, int levels = 8) {
  std::error_code failed;
  for (std::filesystem::directory_iterator below(folder + "/slaves", failed), end;
       !failed && levels > 0 && below != end; below.increment(failed)) {
    const std::string& disk = below->path().native();
    const bool mapped = below->path().filename().native().starts_with("dm-");
    const auto uuid = mapped ? read_file(disk + "/dm/uuid", kKiB) : Result<std::string>("");
    if (!uuid) return uuid.error();
    if (uuid->starts_with("LVM-")) {
      if (auto added = add_disks_below(disk, numbers, levels - 1); !added) return added;
      continue;
    }
    const auto number = read_file(disk + "/dev", kKiB);
    if (!number) return number.error();
    numbers.emplace(trim(*number));
  }
  return failed ? Status(Error::from_errno(failed.value(), concat("looking at ", folder)))
                : Status();
}

}  // namespace

Content classify_superblock(std::string_view start, FsType type, std::string_view uuid) {
  if (start.size() < kSuperblockBytes) return Content::kForeign;
  if (start.starts_with("XFSB")) {
    const bool ours = type == FsType::kXfs && to_uuid(start.substr(kXfsUuidAt, kUuidBytes)) == uuid;
    if (!ours) return Content::kForeign;
    return start[kXfsInProgressAt] != 0 ? Content::kIncomplete : Content::kComplete;
  }
  if (start.substr(kExtMagicAt, kExtMagic.size()) == kExtMagic) {
    const bool ours =
        type == FsType::kExt4 && to_uuid(start.substr(kExtUuidAt, kUuidBytes)) == uuid;
    return ours ? Content::kComplete : Content::kForeign;
  }
  // lvcreate clears the first 4 KiB, a thin pool every block, and neither mkfs begins with anything
  // else there than its superblock.
  const bool cleared = start.substr(0, kSectorBytes).find_first_not_of('\0') == start.npos;
  return cleared ? Content::kBlank : Content::kForeign;
}

bool is_pristine_ext4(std::string_view start) {
  constexpr unsigned char kErrors = 2;
  if (!is_ext(start) || (static_cast<unsigned char>(start[kExtAt + 58]) & kErrors) != 0)
    return false;
  const auto word = [&](std::size_t at) { return little_endian(start, kExtAt + at); };
  const std::uint64_t own = word(84) + (word(620) != 0 ? 1 : 0) + (word(640) != 0 ? 1 : 0);
  return word(0) - word(16) <= own;
}

Bytes file_system_size(std::string_view start) {
  if (is_ext(start)) {
    const std::uint64_t shift = 10 + std::min<std::uint64_t>(little_endian(start, kExtAt + 24), 6);
    return Bytes(ext_blocks(start) << shift);
  }
  if (start.size() < kSuperblockBytes || !start.starts_with("XFSB")) return {};
  const auto big_endian = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      number = number << 8U | static_cast<unsigned char>(start[at + i]);
    return number;
  };
  return Bytes(big_endian(4, 4) * big_endian(8, 8));
}

bool ends_with_a_group(std::string_view start) {
  if (!is_ext(start)) return false;
  const std::uint64_t per_group = little_endian(start, kExtAt + 32);
  const std::uint64_t first = little_endian(start, kExtAt + 20);
  return per_group != 0 && (ext_blocks(start) - first) % per_group == 0;
}

Result<std::string> KernelDevices::mapper_uuid(const std::string& path) {
  const auto folder = mapper_folder(root_, path);
  if (!folder) return folder.error();
  const auto uuid = read_file(concat(*folder, "/dm/uuid"), kKiB);
  if (!uuid) return uuid.error();
  return std::string(trim(*uuid));
}

Result<MapperState> KernelDevices::mapper_state(const std::string& path) {
  const auto folder = mapper_folder(root_, path);
  if (!folder) return folder.error();
  const auto suspended = read_file(concat(*folder, "/dm/suspended"), kKiB);
  if (!suspended) return suspended.error();
  const auto size = size_of(*folder);
  if (!size) return size.error();
  return MapperState{*size, trim(*suspended) != "0"};
}

Result<std::vector<MapperDevice>> KernelDevices::mapper_devices() {
  std::vector<MapperDevice> devices;
  const auto looked = for_each_disk([&](const std::string& disk) {
    const auto name = read_file(disk + "/dm/name", kKiB);
    const auto uuid = name ? read_file(disk + "/dm/uuid", kKiB) : name;
    const auto size = uuid ? size_of(disk) : Result<Bytes>(uuid.error());
    if (size) devices.push_back({std::string(trim(*name)), std::string(trim(*uuid)), *size});
  });
  if (!looked) return looked.error();
  return devices;
}

Result<std::vector<std::string>> KernelDevices::suspended_devices() {
  std::vector<std::string> names;
  const auto looked = for_each_disk([&](const std::string& disk) {
    const auto suspended = read_file(disk + "/dm/suspended", kKiB);
    if (!suspended || trim(*suspended) == "0") return;
    if (const auto name = read_file(disk + "/dm/name", kKiB)) names.emplace_back(trim(*name));
  });
  if (!looked) return looked.error();
  return names;
}

// Of an inactive table sysfs says nothing.
Result<bool> KernelDevices::has_unfinished(const std::vector<std::string>& names) {
  const std::string path = concat(root_, kMapperControl);
  const auto control = open_file(path, O_RDWR);
  if (!control) return control.error();
  for (const std::string& name : names) {
    dm_ioctl call = mapper_call();
    if (name.size() >= sizeof call.name)
      return Error(ErrorCode::kInvalid, concat(name, " is too long"));
    name.copy(static_cast<char*>(call.name), name.size());
    if (::ioctl(control->get(), DM_DEV_STATUS, &call) == 0) {
      if ((call.flags & (DM_SUSPEND_FLAG | DM_INACTIVE_PRESENT_FLAG)) != 0) return true;
    } else if (errno != ENXIO) {
      return Error::from_errno(errno, concat("asking for the state of ", name));
    }
  }
  return false;
}

Status KernelDevices::resize_ext4(const std::string& mount_point, Bytes size) {
  const auto folder = open_file(root_ + mount_point, O_RDONLY | O_DIRECTORY);
  if (!folder) return folder.error();
  struct statfs status {};
  if (::fstatfs(folder->get(), &status) != 0)
    return Error::from_errno(errno, concat("looking at ", mount_point));
  if (status.f_type != EXT4_SUPER_MAGIC || status.f_bsize <= 0)
    return Error(ErrorCode::kInvalid, concat(mount_point, " is no ext4"));
  const std::uint64_t blocks = size.count() / static_cast<std::uint64_t>(status.f_bsize);
  if (::ioctl(folder->get(), kResizeExt4, &blocks) != 0)
    return Error::from_errno(errno, concat("resizing ", mount_point));
  return {};
}

Result<Bytes> KernelDevices::xfs_size(const std::string& mount_point) {
  const auto folder = open_file(root_ + mount_point, O_RDONLY | O_DIRECTORY);
  if (!folder) return folder.error();
  struct statfs status {};
  if (::fstatfs(folder->get(), &status) != 0)
    return Error::from_errno(errno, concat("looking at ", mount_point));
  if (status.f_type != XFS_SUPER_MAGIC)
    return Error(ErrorCode::kInvalid, concat(mount_point, " is no XFS"));
  XfsGeometry geometry{};
  if (::ioctl(folder->get(), kXfsGeometry, &geometry) != 0)
    return Error::from_errno(errno, concat("asking for the geometry of ", mount_point));
  return Bytes(geometry.data_blocks * geometry.block_size);
}

Result<std::string> KernelDevices::disk_number(const std::string& path) {
  auto number = device_number(root_ + path);
  if (!number) return number;
  const std::string folder = concat(kBlockDevices, *number);
  if (::access(concat(folder, "/partition").c_str(), F_OK) != 0) return number;
  // A partition's folder is within its disk's.
  const auto disk = read_file(concat(folder, "/../dev"), kKiB);
  if (!disk) return disk.error();
  return std::string(trim(*disk));
}

Result<std::string> KernelDevices::only_disk_of(const std::string& path,
                                                const std::vector<std::string>& disks) {
  const auto folder = mapper_folder(root_, path);
  if (!folder) return folder.error();
  std::set<std::string> numbers;
  if (auto added = add_disks_below(*folder, numbers); !added) return added.error();
  for (const std::string& disk : disks)
    if (const auto number = device_number(root_ + disk);
        number && numbers == std::set<std::string>{*number})
      return disk;
  return Error(ErrorCode::kNotFound, concat(path, " does not stand on one of these disks alone"));
}

Result<std::string> KernelDevices::read(const std::string& path, Bytes offset, std::size_t bytes) {
  const auto fd = open_file(root_ + path, O_RDONLY);
  if (!fd) return fd.error();
  std::string content(bytes, '\0');
  const auto done = read_at(*fd, path, offset, content.data(), bytes);
  if (!done) return done.error();
  content.resize(*done);
  return content;
}

// A disk whose own blocks are larger refuses smaller ones.
Result<std::string> KernelDevices::read_direct(const std::string& path, Bytes offset,
                                               std::size_t bytes) {
  auto content = read_blocks(root_ + path, offset, bytes, kUsualBlock);
  if (!content && content.error().code() == ErrorCode::kInvalid)
    return read_blocks(root_ + path, offset, bytes, kLargestBlock);
  return content;
}

Result<std::string> KernelDevices::read_cached(const std::string& path, Bytes offset,
                                               std::size_t bytes) {
  const auto fd = open_file(root_ + path, O_RDONLY);
  if (!fd) return fd.error();
  std::string content(bytes, '\0');
  const iovec into{content.data(), bytes};
  const ssize_t got =
      ::preadv2(fd->get(), &into, 1, static_cast<off_t>(offset.count()), RWF_NOWAIT);
  if (got != static_cast<ssize_t>(bytes))
    return Error(ErrorCode::kUnavailable,
                 concat("what is asked of ", path, " is not in the kernel's memory"));
  return content;
}

}  // namespace flexlocal::engine
