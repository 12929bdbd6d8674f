#include "flexvolume/engine/filesystem.h"

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

// mkfs.xfs discards the whole device first, which slow devices take minutes for.
constexpr auto kMakeDeadline = std::chrono::minutes(10);
constexpr auto kProbeDeadline = std::chrono::seconds(60);

// man blkid, "RETURN CODE".
constexpr int kNothingFound = 2;
constexpr int kSeveralFound = 8;

}  // namespace

Status Filesystems::make(const std::string& device, FsType, const VolumeName& name, int lock) {
  auto path = tools_.path("mkfs.xfs");
  if (!path) return path.error();
  const auto output =
      runner_.run({std::move(*path),
                   {"-q", "-f", "-m", concat("uuid=", name.claim_uid()), "--", device},
                   kMakeDeadline,
                   {lock}});
  if (!output) return output.error();
  if (output->exit_code != 0)
    return Error(ErrorCode::kFailed, concat("mkfs.xfs failed (exit code ", output->exit_code,
                                            "): ", printable(trim(output->err), 500)));
  // From now on the volume is never formatted again, so the tool is not taken at its word: disks
  // that fail lose writes without saying so.
  const auto made = probe(device, name);
  if (!made) return made.error();
  if (*made != Content::kComplete)
    return Error(ErrorCode::kFailed,
                 concat("mkfs.xfs reported success, but no complete file system can be read from ",
                        device, "; does the disk lose writes?"));
  return {};
}

Result<Content> Filesystems::probe(const std::string& device, const VolumeName& name) {
  const auto start = devices_.read_start(device, kSuperblockBytes);
  if (!start) return start.error();
  const Content content = classify_superblock(*start, name.claim_uid());
  if (content != Content::kBlank) return content;
  auto path = tools_.path("blkid");
  if (!path) return path.error();
  const auto output =
      runner_.run({std::move(*path), {"--probe", "--", device}, kProbeDeadline, {}});
  if (!output) return output.error();
  // The same code says that the device cannot be read; it was read a moment ago.
  if (output->exit_code == kNothingFound) return Content::kBlank;
  if (output->exit_code == 0 || output->exit_code == kSeveralFound) return Content::kForeign;
  return Error(ErrorCode::kFailed, concat("blkid failed (exit code ", output->exit_code,
                                          "): ", printable(trim(output->err), 500)));
}

std::string mount_data(const VolumeSpec& spec) {
  std::string data = spec.fs_type == FsType::kXfs ? "prjquota" : "";
  for (const std::string& option : spec.mount_options)
    if (option == "discard") data += data.empty() ? "discard" : ",discard";
  return data;
}

}  // namespace flexlocal::engine
