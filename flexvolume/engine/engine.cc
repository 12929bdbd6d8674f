#include "flexvolume/engine/engine.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume_folder.h"
#include "flexvolume/engine/volume_maker.h"

namespace flexlocal::engine {
namespace {

// "Several pods mounted and unmounted in between" ends well before this many layers.
constexpr int kMostLayers = 64;

enum class Settlement { kNone, kTagReady, kRestoreRecord };

Settlement plan_settlement(const std::optional<Record>& record, const LogicalVolume& volume) {
  if (!record) return volume.ownership->ready ? Settlement::kRestoreRecord : Settlement::kNone;
  const bool newly_ready = record->state == RecordState::kReady && !volume.ownership->ready &&
                           record->device_uuid == volume.device_uuid;
  return newly_ready ? Settlement::kTagReady : Settlement::kNone;
}

Error other_group(const VolumeSpec& spec, std::string_view configured, std::string_view real) {
  return Error(ErrorCode::kInvalid, concat("the volume is on volume group \"", real,
                                           "\", but pool \"", spec.pool, "\" is \"", configured,
                                           "\" in node.conf; correct node.conf, and restart "
                                           "the node daemon"));
}

std::vector<MountEntry> mounts_at(const std::vector<MountEntry>& table, const std::string& path) {
  std::vector<MountEntry> found;
  std::copy_if(table.begin(), table.end(), std::back_inserter(found),
               [&](const MountEntry& entry) { return entry.mount_point == path; });
  return found;
}

}  // namespace

Engine::Engine(const Host& host, const NodeConfig& config)
    : host_(host),
      config_(config),
      tools_(config.tools, host.tool_root),
      lvm_(host.runner, tools_),
      filesystems_(host.runner, tools_, host.devices),
      records_(host.record_folder) {}

Status Engine::mount(const MountRequest& request) {
  const VolumeSpec& spec = request.spec;
  if (request.pod_namespace != spec.claim_namespace)
    return Error(ErrorCode::kDenied,
                 concat("the volume is of namespace \"", spec.claim_namespace, "\"; a pod of \"",
                        printable(request.pod_namespace, 63), "\" may not mount it"));
  const auto pool = find_pool(config_, spec.pool);
  if (!pool) return pool.error();
  if (auto shape = check_volume_folder(config_.kubelet_dir, request.folder); !shape) return shape;
  const auto lock = lock_volume(host_.lock_folder, spec.name);
  if (!lock) return lock.error();
  VolumeMaker maker({lvm_, filesystems_, host_.devices, records_, host_.lock_folder, host_.log},
                    spec, pool->volume_group, lock->fd());
  // The folder is looked at before anything is made, and again, held open, for the mount itself.
  if (auto folder = VolumeFolder::open(config_.kubelet_dir, request.folder); !folder)
    return folder.error();
  const auto device = maker.run();
  if (!device) return device.error();
  return mount_on(request, *device);
}

Status Engine::mount_on(const MountRequest& request, const std::string& device) {
  const auto folder = VolumeFolder::open(config_.kubelet_dir, request.folder);
  if (!folder) return folder.error();
  const auto table = host_.mounter.table();
  if (!table) return table.error();
  if (const auto there = mounts_at(*table, folder->path()); !there.empty()) {
    if (there.back().source == device) return {};
    return Error(ErrorCode::kBusy, concat(there.back().source, " is mounted on ", request.folder,
                                          " already; unmount it first"));
  }
  const auto target = folder->open_itself();
  if (!target) return target.error();
  const std::string fs_type(to_string(request.spec.fs_type));
  // Read-write always: the kernel has one superblock for all mounts of a device, and refuses a
  // read-only one beside a writer's. Read-only is this one mount, for this one pod.
  auto mounted = host_.mounter.mount(device, descriptor_path(*target), fs_type,
                                     mount_data(request.spec.fs_type));
  if (!mounted && mounted.error().code() != ErrorCode::kBusy)
    return Error(ErrorCode::kCorrupt, concat(mounted.error().message(),
                                             "; the volume is not formatted again, look at "
                                             "the kernel's log and at `xfs_repair -n ",
                                             device, '`'));
  if (!mounted || !request.read_only) return mounted;
  auto narrowed = host_.mounter.make_read_only(folder->through_parent());
  if (narrowed) return {};
  if (auto undone = host_.mounter.unmount(folder->through_parent()); !undone)
    return narrowed.error().context(concat("left mounted (", undone.error().message(), ')'));
  return narrowed;
}

Status Engine::unmount(const std::string& folder_path) {
  const auto folder = VolumeFolder::open(config_.kubelet_dir, folder_path);
  if (!folder) return folder.error().code() == ErrorCode::kNotFound ? Status() : folder.error();
  for (int layer = 0; layer < kMostLayers; ++layer) {
    const auto table = host_.mounter.table();
    if (!table) return table.error();
    if (mounts_at(*table, folder->path()).empty()) return {};
    if (auto unmounted = host_.mounter.unmount(folder->through_parent()); !unmounted)
      return unmounted.error().context(folder->path());
  }
  return Error(ErrorCode::kBusy,
               concat("more than ", kMostLayers, " mounts are stacked on ", folder->path()));
}

Status Engine::remove(const VolumeSpec& spec) {
  const auto pool = find_pool(config_, spec.pool);
  if (!pool) return pool.error();
  const auto lock = lock_volume(host_.lock_folder, spec.name);
  if (!lock) return lock.error();
  const auto found = find_to_remove(spec, pool->volume_group);
  if (!found) return found.error();
  if (!*found) return records_.remove(spec.name);
  const LogicalVolume& volume = **found;
  const std::string lv = concat(volume.group, '/', volume.name);
  if (!volume.ownership || !owns(*volume.ownership, spec))
    return Error(ErrorCode::kDenied, concat("logical volume ", lv,
                                            " is not removed: its tags do not say that it is "
                                            "this claim's"));
  if (volume.open)
    return Error(ErrorCode::kBusy,
                 concat("logical volume ", lv, " is in use and is not removed yet"));
  const auto group_lock = lock_volume_group(host_.lock_folder, volume.group);
  if (!group_lock) return group_lock.error();
  if (auto removed = lvm_.remove(volume); !removed)
    return removed.error().context(concat("removing ", lv));
  host_.log.info("logical volume removed", {{"volume", spec.name.text()}, {"uuid", volume.uuid}});
  return records_.remove(spec.name);
}

// Nothing, once it is proven that there is nothing: the volume is not looked for on the one group
// that node.conf names today, and a group that cannot be seen proves nothing.
Result<std::optional<LogicalVolume>> Engine::find_to_remove(const VolumeSpec& spec,
                                                            const std::string& group) {
  auto found = lvm_.find_anywhere(spec.name);
  if (!found) return found.error();
  for (LogicalVolume& volume : *found)
    if (volume.group == group) return std::optional(std::move(volume));
  const auto record = records_.load(spec.name);
  if (!record) return record.error();
  for (const LogicalVolume& volume : *found)
    if (volume.ownership && owns(*volume.ownership, spec))
      return other_group(spec, group, volume.group);
  if (*record && (*record)->volume_group != group)
    return other_group(spec, group, (*record)->volume_group);
  if (auto seen = lvm_.group(group); !seen)
    return Error(ErrorCode::kUnavailable,
                 concat("cannot tell whether ", group, '/', spec.name.text(),
                        " is gone: ", seen.error().message()));
  return std::optional<LogicalVolume>();
}

Result<Inventory> Engine::inventory() { return lvm_.inventory(); }

Status Engine::settle(const Inventory& inventory) {
  Status first_failure;
  for (const LogicalVolume& volume : inventory.volumes) {
    if (!volume.ownership) continue;
    auto settled = settle_volume(volume);
    // One volume in trouble must not keep the others from being settled.
    if (!settled && first_failure)
      first_failure = settled.error().context(concat("settling ", volume.group, '/', volume.name));
  }
  return first_failure;
}

Status Engine::settle_volume(const LogicalVolume& volume) {
  const auto name = VolumeName::of_claim(volume.ownership->claim_uid);
  if (!name || name->text() != volume.name) return {};  // renamed by a person: theirs to settle
  // Most are settled already; a lock is only waited for where there is something to do.
  const auto glance = records_.load(*name);
  if (!glance) return glance.error();
  if (plan_settlement(*glance, volume) == Settlement::kNone) return {};
  const auto lock = lock_volume(host_.lock_folder, *name);
  if (!lock) return lock.error();
  const auto record = records_.load(*name);
  if (!record) return record.error();
  switch (plan_settlement(*record, volume)) {
    case Settlement::kNone:
      return {};
    case Settlement::kTagReady:
      return lvm_.tag_ready(volume);
    case Settlement::kRestoreRecord:
      break;
  }
  // The inventory may be older than a removal: a record of what is gone would stay for ever.
  const auto now = lvm_.find(volume.group, *name);
  if (!now) return now.error();
  if (!*now || (*now)->uuid != volume.uuid) return {};
  return records_.save({.name = *name,
                        .state = RecordState::kReady,
                        .attempt = volume.ownership->attempt,
                        .device_uuid = volume.device_uuid,
                        .volume_group = volume.group,
                        .cluster_id = volume.ownership->cluster_id,
                        .claim_namespace = volume.ownership->claim_namespace,
                        .fs_type = volume.ownership->fs_type,
                        .size = volume.ownership->size});
}

}  // namespace flexlocal::engine
