#include "flexvolume/engine/limits/io_limits.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kIoMax = "io.max";
constexpr std::string_view kSubtreeControl = "cgroup.subtree_control";
// Of v1's walk below a pod: deeper or more is nothing that a container's runtime makes.
constexpr int kMostLevels = 8;
constexpr int kMostCgroups = 1024;

// The rest of the line that begins with the device, or nothing.
std::string_view line_of(std::string_view content, std::string_view device) {
  for (const std::string_view line : split(content, '\n'))
    if (line.starts_with(device) && line.substr(device.size()).starts_with(' '))
      return line.substr(device.size() + 1);
  return {};
}

std::uint64_t number_or_none(std::string_view text) {
  unsigned long long number = 0;
  return parse_number(text, UINT64_MAX, number) ? number : 0;
}

std::uint64_t lower(std::uint64_t one, std::uint64_t other) {
  if (one == 0 || other == 0) return std::max(one, other);
  return std::min(one, other);
}

bool lists(std::string_view words, std::string_view wanted) {
  const auto all = split(trim(words), ' ');
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

// So that the cgroups in `parent` have io.max.
Status enable_io(const Cgroup& parent) {
  const auto enabled = parent.read(kSubtreeControl);
  if (!enabled) return enabled.error();
  if (lists(*enabled, "io")) return {};
  const auto offered = parent.read("cgroup.controllers");
  if (!offered) return offered.error();
  if (!lists(*offered, "io"))
    return Error(ErrorCode::kUnavailable,
                 concat("the kernel does not offer the controller io in ", parent.path(),
                        "; it needs CONFIG_BLK_CGROUP and CONFIG_BLK_DEV_THROTTLING, and no "
                        "cgroup v1 hierarchy that has blkio"));
  return parent.write(kSubtreeControl, "+io");
}

Status limit_v2(const PodCgroup& pod, std::string_view device, const IoLimits& limits) {
  for (std::size_t i = 0; i + 1 < pod.size(); ++i)
    if (auto enabled = enable_io(pod[i]); !enabled) return enabled;
  const auto content = pod.back().read(kIoMax);
  if (!content) return content.error();
  const IoLimits present = parse_io_max(*content, device);
  const IoLimits wanted = tightened(present, limits);
  if (wanted == present) return {};
  return pod.back().write(kIoMax, to_io_max(device, wanted));
}

// v1 keeps a number of operations in 32 bits and drops the rest unseen, and the largest of them
// means none (block/blk-throttle.c, tg_set_conf); no disk is as fast.
std::uint64_t v1_operations(std::uint64_t limit) {
  return limit >= UINT32_MAX ? std::uint64_t(0) : limit;
}

Status throttle(const Cgroup& cgroup, std::string_view file, std::string_view device,
                std::uint64_t limit) {
  if (limit == 0) return {};
  const auto content = cgroup.read(file);
  if (!content) return content.error();
  const std::uint64_t present = parse_throttle(*content, device);
  const std::uint64_t wanted = lower(present, limit);
  return wanted == present ? Status() : cgroup.write(file, concat(device, ' ', wanted));
}

Status limit_v1(const Cgroup& cgroup, std::string_view device, const IoLimits& limits) {
  struct Throttle {
    std::string_view file;
    std::uint64_t limit;
  };
  const std::array<Throttle, 4> all = {
      {{"blkio.throttle.read_bps_device", limits.read_bandwidth.count()},
       {"blkio.throttle.write_bps_device", limits.write_bandwidth.count()},
       {"blkio.throttle.read_iops_device", v1_operations(limits.read_iops)},
       {"blkio.throttle.write_iops_device", v1_operations(limits.write_iops)}}};
  for (const Throttle& one : all)
    if (auto set = throttle(cgroup, one.file, device, one.limit); !set) return set;
  return {};
}

// The cgroup first and then those in it, so that a container that appears meanwhile is met or made
// after. One that is gone needs no limit.
Status limit_tree_v1(const Cgroup& top, std::string_view device, const IoLimits& limits, int levels,
                     int& left) {
  if (auto limited = limit_v1(top, device, limits); !limited) return limited;
  const auto names = top.children();
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (levels == 0 || --left < 0)
      return Error(ErrorCode::kUnavailable, concat(top.path(), " has too many cgroups below it"));
    const auto below = top.child(name);
    Status limited =
        below ? limit_tree_v1(*below, device, limits, levels - 1, left) : Status(below.error());
    if (!limited && top.child(name)) return limited;
  }
  return {};
}

}  // namespace

IoLimits parse_io_max(std::string_view content, std::string_view device) {
  IoLimits limits;
  for (const std::string_view pair : split(line_of(content, device), ' ')) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = pair.substr(0, equals);
    const std::uint64_t limit = number_or_none(pair.substr(equals + 1));
    if (key == "rbps") limits.read_bandwidth = Bytes(limit);
    if (key == "wbps") limits.write_bandwidth = Bytes(limit);
    if (key == "riops") limits.read_iops = limit;
    if (key == "wiops") limits.write_iops = limit;
  }
  return limits;
}

std::string to_io_max(std::string_view device, const IoLimits& limits) {
  std::string line(device);
  const auto add = [&](std::string_view key, std::uint64_t limit) {
    if (limit != 0) line += concat(' ', key, '=', limit);
  };
  add("rbps", limits.read_bandwidth.count());
  add("wbps", limits.write_bandwidth.count());
  add("riops", limits.read_iops);
  add("wiops", limits.write_iops);
  return line;
}

std::uint64_t parse_throttle(std::string_view content, std::string_view device) {
  return number_or_none(line_of(content, device));
}

IoLimits tightened(const IoLimits& present, const IoLimits& wanted) {
  return {lower(present.read_iops, wanted.read_iops), lower(present.write_iops, wanted.write_iops),
          Bytes(lower(present.read_bandwidth.count(), wanted.read_bandwidth.count())),
          Bytes(lower(present.write_bandwidth.count(), wanted.write_bandwidth.count())),
          present.required};
}

Status limit_pod(CgroupVersion version, const PodCgroup& pod, std::string_view device,
                 const IoLimits& limits) {
  if (version == CgroupVersion::kV2) return limit_v2(pod, device, limits);
  int left = kMostCgroups;
  return limit_tree_v1(pod.back(), device, limits, kMostLevels, left);
}

}  // namespace flexlocal::engine
