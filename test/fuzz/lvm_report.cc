// What vgs and lvs print: names and tags in it are whatever anybody gave their volumes.
#include <algorithm>

#include "flexvolume/engine/lvm/lvm.h"
#include "test/fuzz/property.h"

namespace flexlocal::fuzz {
namespace {

template <typename Parsed>
bool taken(const Result<Parsed>& parsed) {
  require(parsed.ok() || parsed.error().code() == ErrorCode::kCorrupt,
          "a report that is refused is corrupt, and nothing else");
  return parsed.ok();
}

void check_volume(const engine::LogicalVolume& volume) {
  require(!volume.group.empty() && !volume.name.empty() && !volume.uuid.empty(),
          "a volume has a group, a name and a uuid");
  require(volume.device_uuid.starts_with("LVM-") &&
              std::count(volume.device_uuid.begin(), volume.device_uuid.end(), '-') == 1,
          "a device's uuid is as device-mapper writes it");
  require(volume.size <= kMostBytes, "a size fits 63 bits");
}

void check_group(const engine::VolumeGroup& group) {
  require(!group.name.empty(), "a group has a name");
  require(group.size <= kMostBytes && group.free <= kMostBytes && group.extent <= kMostBytes,
          "a size fits 63 bits");
}

}  // namespace
}  // namespace flexlocal::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flexlocal;  // NOLINT: the one function outside the namespace
  const std::string_view report = fuzz::as_text(data, size);
  if (const auto groups = engine::parse_volume_groups(report); fuzz::taken(groups))
    std::for_each(groups->begin(), groups->end(), fuzz::check_group);
  if (const auto volumes = engine::parse_logical_volumes(report); fuzz::taken(volumes))
    std::for_each(volumes->begin(), volumes->end(), fuzz::check_volume);
  const auto pool = engine::parse_thin_pool(report, "tp");
  fuzz::require(pool.ok() || pool.error().code() == ErrorCode::kCorrupt ||
                    pool.error().code() == ErrorCode::kNotFound ||
                    pool.error().code() == ErrorCode::kUnavailable,
                "a pool is there, or not, or not active, or the report is corrupt");
  fuzz::require(!pool || pool->size <= kMostBytes, "a size fits 63 bits");
  (void)fuzz::taken(engine::parse_disks(report));
  (void)fuzz::taken(engine::parse_idle_components(report, "tp"));
  const auto id = engine::parse_thin_id(report);
  fuzz::require(id.ok() || id.error().code() == ErrorCode::kCorrupt ||
                    id.error().code() == ErrorCode::kNotFound,
                "a thin volume has a number, or is gone, or the report is corrupt");
  const auto inventory = engine::parse_inventory(report);
  if (!fuzz::taken(inventory)) return 0;
  std::for_each(inventory->groups.begin(), inventory->groups.end(), fuzz::check_group);
  for (const engine::LogicalVolume& volume : inventory->volumes) {
    fuzz::check_volume(volume);
    fuzz::require(volume.ownership.has_value(), "only our volumes are in the inventory");
    fuzz::require(std::any_of(inventory->groups.begin(), inventory->groups.end(),
                              [&](const auto& group) { return group.name == volume.group; }),
                  "a volume's group is in the inventory");
  }
  return 0;
}
