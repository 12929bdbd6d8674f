#include "flexvolume/engine/lvm/filesystem.h"

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/run_tool.h"
#include "flexvolume/engine/lvm/mkfs_profile.h"

namespace flexlocal::engine {
namespace {

// A slow disk takes a while for what XFS writes in each of a large device's groups.
constexpr auto kMakeDeadline = std::chrono::minutes(10);
constexpr auto kGrowDeadline = std::chrono::minutes(2);
constexpr auto kProbeDeadline = std::chrono::seconds(60);

// What a grown file system may leave of its device. XFS makes no allocation group of fewer blocks
// than 64 (fs/xfs/xfs_fsops.c, XFS_MIN_AG_BLOCKS), of 4 KiB each. ext4 makes no last block group
// that has little more than its own tables (resize/resize2fs.c, adjust_fs_geometry): as mkfs.ext4
// makes them, an inode table of 2 MiB, up to 4 MiB for descriptors to come, and 64 bytes for each
// 128 MiB that the file system has.
constexpr Bytes kXfsLeaves{64 * 4 * kKiB.count()};

Bytes ext4_leaves(std::string_view start, Bytes device) {
  if (!ends_with_a_group(start)) return {};
  return Bytes(8 * kMiB.count() + device.count() / kMiB.count());
}

// man blkid, "RETURN CODE".
constexpr int kNothingFound = 2;
constexpr int kSeveralFound = 8;

std::vector<std::string> mkfs_arguments(const std::string& device, FsType type,
                                        const std::string& uuid, const std::string& root) {
  // -m 0: nothing is set aside for root, whose volume it is not. Nothing is discarded: that takes
  // minutes on some arrays, and what a volume leaves behind is onDelete's.
  if (type == FsType::kExt4)
    return {"-q", "-F", "-m", "0", "-E", "nodiscard", "-U", uuid, "--", device};
  std::vector<std::string> arguments = {"-q", "-f", "-K", "-m", concat("uuid=", uuid)};
  if (const std::string profile = mkfs_profile(root); !profile.empty())
    arguments.insert(arguments.end(), {"-c", concat("options=", profile)});
  arguments.insert(arguments.end(), {"--", device});
  return arguments;
}

}  // namespace

Status Filesystems::run(std::string_view tool, std::vector<std::string> arguments,
                        std::chrono::milliseconds deadline, std::vector<int> keep) {
  return do_tool(runner_, tools_, {tool, std::move(arguments), deadline, std::move(keep)});
}

Status Filesystems::make(const std::string& device, FsType type, const std::string& uuid,
                         int lock) {
  const std::string_view tool = type == FsType::kExt4 ? "mkfs.ext4" : "mkfs.xfs";
  auto ended = run(tool, mkfs_arguments(device, type, uuid, root_), kMakeDeadline, {lock});
  if (!ended) return ended;
  // From now on the volume is never formatted again, so the tool is not taken at its word: disks
  // that fail lose writes without saying so.
  const auto content = probe(device, type, uuid);
  if (!content) return content.error();
  if (*content == Content::kComplete) return {};
  return Error(ErrorCode::kFailed,
               concat(tool, " reported success, but no complete file system can be read from ",
                      device, "; does the disk lose writes?"));
}

Status Filesystems::grow(const std::string& device, FsType type, const std::string& mount_point) {
  auto grown = type == FsType::kExt4 ? grow_ext4(device, mount_point)
                                     : run("xfs_growfs", {"-d", "--", mount_point}, kGrowDeadline);
  return grown ? check_grown(device, type, mount_point) : grown;
}

Status Filesystems::grow_ext4(const std::string& device, const std::string& mount_point) {
  // It goes through the first mount that the table has of the device, which may be a reader's.
  auto grown = run("resize2fs", {"--", device}, kGrowDeadline);
  if (grown || grown.error().code() == ErrorCode::kDeadline) return grown;
  const auto resized = resize_ext4(device, mount_point);
  return resized ? resized : Status(grown.error().context(resized.error().message()));
}

// xfs_growfs ends with 0 where the size is "unchanged" (man xfs_growfs), and a claim is told of its
// growth once, so that neither tool is taken at its word.
Status Filesystems::check_grown(const std::string& device, FsType type,
                                const std::string& mount_point) {
  const bool ext4 = type == FsType::kExt4;
  const auto state = devices_.mapper_state(device);
  // resize2fs opens the device itself, so that it was there: what is gone meanwhile says nothing.
  if (ext4 && !state && state.error().code() == ErrorCode::kNotFound) return {};
  if (!state) return state.error();
  // A mounted ext4 changes its superblock in the device's own page cache, which is read here.
  const auto start =
      ext4 ? devices_.read(device, Bytes(0), kSuperblockBytes) : Result<std::string>(std::string());
  if (!start) return start.error();
  const auto size = ext4 ? Result<Bytes>(file_system_size(*start)) : devices_.xfs_size(mount_point);
  if (!size) return size.error();
  if (*size + (ext4 ? ext4_leaves(*start, state->size) : kXfsLeaves) >= state->size) return {};
  return Error(
      ErrorCode::kFailed,
      concat(ext4 ? "resize2fs" : "xfs_growfs", " reported success, but the file system at ",
             mount_point, " has ", to_string(*size), " of its device's ", to_string(state->size)));
}

Status Filesystems::resize_ext4(const std::string& device, const std::string& mount_point) {
  const auto state = devices_.mapper_state(device);
  if (!state) return state.error();
  return devices_.resize_ext4(mount_point, state->size);
}

Result<Content> Filesystems::probe(const std::string& device, FsType type,
                                   const std::string& uuid) {
  const auto start = devices_.read(device, Bytes(0), kSuperblockBytes);
  if (!start) return start.error();
  const Content content = classify_superblock(*start, type, uuid);
  if (content != Content::kBlank) return content;
  const auto output = run_tool(runner_, tools_,
                               {.tool = "blkid",
                                .arguments = {"--probe", "--", device},
                                .deadline = kProbeDeadline,
                                .fine = {0, kNothingFound, kSeveralFound}});
  if (!output) return output.error();
  // The same code says that the device cannot be read; it was read a moment ago.
  return output->exit_code == kNothingFound ? Content::kBlank : Content::kForeign;
}

std::string mount_data(const VolumeSpec& spec) {
  std::string data = spec.fs_type == FsType::kXfs ? "prjquota" : "";
  for (const std::string& option : spec.mount_options)
    if (option == "discard") data += data.empty() ? "discard" : ",discard";
  return data;
}

}  // namespace flexlocal::engine
