#include "flexvolume/engine/limits/io_limiter.h"

#include <unistd.h>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume/volume_folder.h"

namespace flexlocal::engine {
namespace {

constexpr std::chrono::milliseconds kPatience{2000};

struct Remembered {
  std::string disk;
  IoLimits limits;
};

Remembered parse_remembered(std::string_view text) {
  std::string disk(text.substr(0, text.find(' ')));
  const IoLimits limits = parse_io_max(text, disk);
  return {std::move(disk), limits};
}

}  // namespace

Result<LimitedPod> IoLimiter::find(const std::string& pod_uid) const {
  const auto table = parts_.mounter.table();
  if (!table) return table.error();
  const auto hierarchy = find_io_hierarchy(*table, parts_.host_root);
  if (!hierarchy) return hierarchy.error();
  auto cgroup = find_pod_cgroup(*hierarchy, pod_uid, kPatience, parts_.pause);
  if (!cgroup) return cgroup.error();
  return LimitedPod{hierarchy->version, std::move(*cgroup)};
}

std::string IoLimiter::path_of(const VolumeName& volume) const {
  return concat(parts_.state, '/', volume.text());
}

Status IoLimiter::remember(const VolumeName& volume, const std::string& disk,
                           const IoLimits& limits) const {
  if (auto made = make_folders(parts_.state); !made) return made;
  return write_file_atomically(path_of(volume), to_io_max(disk, limits), 0600);
}

Result<IoLimits> IoLimiter::remembered(const VolumeName& volume) const {
  const auto text = read_file(path_of(volume), kKiB);
  if (text) return parse_remembered(*text).limits;
  if (text.error().code() == ErrorCode::kNotFound) return IoLimits{};
  return text.error();
}

void IoLimiter::forget(const VolumeName& volume) const {
  if (auto removed = remove_file(path_of(volume)); !removed)
    parts_.log.warning("the note of a volume's I/O limits stays until the next reboot",
                       {{"volume", volume.text()}, {"error", removed.error().message()}});
}

Status IoLimiter::refresh() const {
  // Nearly every node, nearly always: no volume with limits since the last reboot.
  if (::access(parts_.state.c_str(), F_OK) != 0) return {};
  const auto table = parts_.mounter.table();
  if (!table) return table.error();
  const auto hierarchy = find_io_hierarchy(*table, parts_.host_root);
  if (!hierarchy) return {};  // each mount has said so
  Status first_trouble;
  for (const MountEntry& entry : *table) {
    const auto place = parse_volume_folder(entry.mount_point);
    if (!place) continue;
    auto limited = refresh_one(*hierarchy, place->volume, place->pod_uid);
    if (!limited && first_trouble)
      first_trouble = limited.error().context(concat(
          "limiting the I/O of pod ", printable(place->pod_uid, 60), " on ", place->volume.text()));
  }
  return first_trouble;
}

Status IoLimiter::refresh_one(const IoHierarchy& hierarchy, const VolumeName& volume,
                              const std::string& pod_uid) const {
  const auto text = read_file(path_of(volume), kKiB);
  if (!text) return text.error().code() == ErrorCode::kNotFound ? Status() : text.error();
  const auto [disk, limits] = parse_remembered(*text);
  constexpr std::chrono::milliseconds kNoPatience{0};
  const auto pod = find_pod_cgroup(hierarchy, pod_uid, kNoPatience);
  // A pod without a cgroup has no process that could read or write.
  if (!pod) return pod.error().code() == ErrorCode::kNotFound ? Status() : pod.error();
  return limit_pod(hierarchy.version, *pod, disk, limits);
}

// What a step came to: kept for conclude(), or the call's failure when limits are required.
Status MountLimits::settle(const Status& outcome) {
  if (outcome) return {};
  if (spec_.limits.required)
    return Error(ErrorCode::kUnavailable,
                 concat("the class says ioLimits: required, and the I/O limits cannot be set: ",
                        outcome.error().message()));
  trouble_ = outcome.error();
  return {};
}

Status MountLimits::find() {
  if (!spec_.limits.any()) return {};
  auto pod = limiter_.find(pod_uid_);
  if (!pod) return settle(pod.error());
  pod_ = std::move(*pod);
  return {};
}

Status MountLimits::limit(const std::string& device) {
  const auto disk = limiter_.parts().devices.disk_number(device);
  if (!disk) return disk.error();
  if (auto kept = limiter_.remember(spec_.name, *disk, spec_.limits); !kept) return kept;
  return pod_ ? limit_pod(pod_->version, pod_->cgroup, *disk, spec_.limits) : Status();
}

Status MountLimits::apply(const std::string& device) {
  if (!spec_.limits.any()) return {};
  return settle(limit(device));
}

void MountLimits::conclude() const {
  if (!trouble_) return;
  const LimiterParts& parts = limiter_.parts();
  parts.log.warning("volume mounted without its I/O limits",
                    {{"volume", spec_.name.text()},
                     {"pod_uid", printable(pod_uid_, 60)},
                     {"error", trouble_->message()},
                     {"advice", "with ioLimits: required in the class such a mount fails"}});
  if (auto counted = parts.not_applied.add_one(); !counted)
    parts.log.warning("mount without I/O limits could not be counted",
                      {{"error", counted.error().message()}});
}

}  // namespace flexlocal::engine
