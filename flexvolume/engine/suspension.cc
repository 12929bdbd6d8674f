#include "flexvolume/engine/suspension.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume_lock.h"

namespace flexlocal::engine {
namespace {

using Names = std::vector<std::string>;

// As device-mapper calls an LV.
std::string mapper_name(const std::string& group, const std::string& name) {
  const std::string path = device_path(group, name);
  return path.substr(path.rfind('/') + 1);
}

Error stays_suspended(const std::string& what) {
  return Error(ErrorCode::kBusy,
               concat(what, " is suspended, also after `lvchange --refresh`; see `dmsetup info`"));
}

// Whether one of them is an LV of the pools' groups, or a part of one.
bool is_any_in_pools(const NodeConfig& config, const Names& names) {
  return std::any_of(config.pools.begin(), config.pools.end(), [&](const auto& pool) {
    const std::string start = mapper_name(pool.second.volume_group, "");
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      // Two hyphens are one in the group's own name.
      return name.starts_with(start) && name.substr(start.size(), 1) != "-";
    });
  });
}

}  // namespace

Result<bool> Resumer::is_suspended(const std::string& group, const std::string& name) const {
  const auto state = parts_.devices.mapper_state(device_path(group, name));
  if (state) return state->suspended;
  // Not active, or not LVM's: whoever uses it finds out.
  const ErrorCode code = state.error().code();
  if (code == ErrorCode::kNotFound || code == ErrorCode::kDenied) return false;
  return state.error();
}

Status Resumer::resume(const std::string& group, const VolumeName& name,
                       const std::string& device_uuid) {
  const auto suspended = is_suspended(group, name.text());
  if (!suspended) return suspended.error();
  if (!*suspended) return {};
  const auto found = parts_.lvm.find(group, name);
  if (!found) return found.error();
  if (!*found || (*found)->device_uuid != device_uuid)
    return Error(ErrorCode::kDenied,
                 concat("the device of ", group, '/', name.text(),
                        " is suspended and not the volume's; see `dmsetup info`"));
  const auto lock = lock_volume_group(parts_.locks, group);
  if (!lock) return lock.error();
  return resume_locked(**found);
}

Status Resumer::resume_locked(const LogicalVolume& volume) {
  const auto suspended = is_suspended(volume.group, volume.name);
  if (!suspended) return suspended.error();
  return *suspended ? refresh(volume) : Status();
}

Status Resumer::refresh(const LogicalVolume& volume) {
  if (auto refreshed = parts_.lvm.refresh(volume); !refreshed)
    return refreshed.error().context(
        concat("the device of ", volume.group, '/', volume.name, " is suspended"));
  const auto still = is_suspended(volume.group, volume.name);
  if (!still) return still.error();
  if (*still) return stays_suspended(concat("the device of ", volume.group, '/', volume.name));
  parts_.log.warning("resumed a device that was left suspended",
                     {{"volume", volume.name}, {"group", volume.group}});
  return {};
}

Status Resumer::resume_all(const NodeConfig& config) {
  const auto names = parts_.devices.suspended();
  if (!names) return names.error();
  if (!is_any_in_pools(config, *names)) return {};
  const Status volumes = resume_volumes();
  const Status pools = resume_thin_pools(config);
  return volumes ? pools : volumes;
}

Status Resumer::resume_volumes() {
  const auto suspended = parts_.lvm.suspended();
  if (!suspended) return suspended.error();
  Status first_failure;
  for (const SuspendedVolume& found : *suspended) {
    if (!found.owned) continue;
    const auto lock = lock_volume_group(parts_.locks, found.volume.group);
    const Status resumed = lock ? resume_locked(found.volume) : lock.error();
    if (!resumed && first_failure) first_failure = resumed;
  }
  return first_failure;
}

// A pool is resumed with its volume. This is for one that was suspended by itself, which LVM does
// not report: what is suspended then is the layer that its volumes are on.
Status Resumer::resume_thin_pools(const NodeConfig& config) {
  Status first_failure;
  for (const auto& named : config.pools) {
    const Status resumed = resume_thin_pool(named.second);
    if (!resumed && first_failure) first_failure = resumed;
  }
  return first_failure;
}

Status Resumer::resume_thin_pool(const Pool& pool) {
  if (pool.thin_pool.empty()) return {};
  const std::string name = concat(pool.volume_group, '/', pool.thin_pool);
  const std::string layer = mapper_name(pool.volume_group, pool.thin_pool) + "-tpool";
  const auto before = is_among_suspended(layer);
  if (!before) return before.error();
  if (!*before) return {};
  const auto lock = lock_volume_group(parts_.locks, pool.volume_group);
  if (!lock) return lock.error();
  if (auto refreshed = parts_.lvm.refresh_thin_pool(pool.volume_group, pool.thin_pool); !refreshed)
    return refreshed.error().context(concat("thin pool ", name, " is suspended"));
  const auto after = is_among_suspended(layer);
  if (!after) return after.error();
  if (*after) return stays_suspended(concat("thin pool ", name));
  parts_.log.warning("resumed a thin pool that was left suspended",
                     {{"thin_pool", pool.thin_pool}, {"group", pool.volume_group}});
  return {};
}

Result<bool> Resumer::is_among_suspended(const std::string& name) const {
  const auto names = parts_.devices.suspended();
  if (!names) return names.error();
  return std::find(names->begin(), names->end(), name) != names->end();
}

}  // namespace flexlocal::engine
