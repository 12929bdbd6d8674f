#include "flexvolume/engine/lvm/lv_backend.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/lv_grower.h"
#include "flexvolume/engine/lvm/lv_look.h"
#include "flexvolume/engine/lvm/lv_maker.h"
#include "flexvolume/engine/lvm/lv_remover.h"
#include "flexvolume/engine/lvm/lv_settler.h"
#include "flexvolume/engine/lvm/mapper_name.h"
#include "flexvolume/engine/lvm/pool_groups.h"
#include "flexvolume/engine/lvm/rollback_guard.h"
#include "flexvolume/engine/lvm/suspension.h"
#include "flexvolume/engine/lvm/thin_room.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

Error other_group(const VolumeSpec& spec, std::string_view configured, std::string_view real) {
  return Error(ErrorCode::kInvalid, concat("the volume is on volume group \"", real,
                                           "\", but pool \"", spec.pool, "\" is \"", configured,
                                           "\" in node.conf; correct node.conf, and restart "
                                           "the node daemon"));
}

bool is_owned(const LogicalVolume& volume, const VolumeSpec& spec) {
  return volume.ownership && owns(*volume.ownership, spec);
}

bool has_volumes(const Inventory& inventory, const std::string& group) {
  return std::any_of(inventory.volumes.begin(), inventory.volumes.end(),
                     [&](const LogicalVolume& volume) { return volume.group == group; });
}

// Whether all spaces are volume groups.
bool is_thick(const NodeConfig& config) {
  return std::all_of(config.pools.begin(), config.pools.end(), [](const auto& pool) {
    return pool.second.thin_pool.empty() && pool.second.quota_path.empty() &&
           pool.second.quota_size == Bytes();
  });
}

void withhold(Inventory& inventory, VolumeGroup& group) {
  group.free = Bytes();
  for (Space& space : inventory.spaces) {
    if (space.id != concat("group:", group.name) &&
        !space.id.starts_with(concat("thin:", group.name, '/')))
      continue;
    space.free = Bytes();
    space.disks.assign(space.disks.size(), Bytes());
  }
}

Error strangers(const LogicalVolume& volume, std::string_view what) {
  return Error(ErrorCode::kDenied, concat("logical volume ", volume.group, '/', volume.name, what,
                                          ": its tags do not say that it is this claim's"));
}

}  // namespace

Result<MountSource> LvBackend::make(const VolumeSpec& spec, const Pool& pool, int lock) {
  if (pool.volume_group.empty())
    return Error(
        ErrorCode::kInvalid,
        concat("pool \"", spec.pool, "\" has no volume-group in node.conf, so that it has no ",
               to_string(spec.backend), " volumes"));
  LvMaker maker(lv_parts(), spec, pool, lock);
  auto device = maker.run();
  if (!device) return device.error();
  return MountSource{
      .device = std::move(*device),
      .fs_type = std::string(to_string(spec.fs_type)),
      .data = mount_data(spec),
      .folder = {},
      .root = {},
      .file_system_behind = maker.record().grow_file_system,
      .for_one_pod = maker.record().spec.access_mode == AccessMode::kReadWriteOncePod};
}

LvParts LvBackend::lv_parts() { return {parts_, lvm_, filesystems_}; }

Status LvBackend::finish_growth(const VolumeSpec& spec) {
  const auto record = parts_.records.load(spec.name);
  if (!record) return record.error();
  if (!*record || !(*record)->grow_file_system) return {};
  const Pool none;
  return LvGrower(lv_parts(), spec, none).finish(**record);
}

Status LvBackend::grow(const VolumeSpec& spec, const Pool& pool, Bytes size, int) {
  return LvGrower(lv_parts(), spec, pool).run(size);
}

Result<Removal> LvBackend::forget(const VolumeName& name) {
  if (auto removed = parts_.records.remove(name); !removed) return removed.error();
  return Removal{};
}

Result<bool> LvBackend::is_empty(const VolumeSpec& spec, const Pool& pool, const FileLock& lock) {
  const auto found = find_or_prove_gone(spec, pool.volume_group);
  if (!found) return found.error();
  if (!*found) return true;
  if (!is_owned(**found, spec)) return strangers(**found, " is not removed");
  return LvLook(lv_parts(), lock).is_empty(spec, **found);
}

Result<Removal> LvBackend::remove(const VolumeSpec& spec, const Pool& pool) {
  const auto found = find_or_prove_gone(spec, pool.volume_group);
  if (!found) return found.error();
  if (!*found) return forget(spec.name);
  if (!is_owned(**found, spec)) return strangers(**found, " is not removed");
  return LvRemover(lv_parts()).run(spec, **found);
}

Status LvBackend::set_retained(const VolumeSpec& spec, const Pool& pool, Retained retained) {
  const auto found = find_or_prove_gone(spec, pool.volume_group);
  if (!found) return found.error();
  if (*found && !is_owned(**found, spec))
    return strangers(**found, " cannot be kept for this claim");
  const bool wanted = retained == Retained::kYes;
  // Both say it: LVM's metadata may be put back to what they were before. What was begun and has no
  // logical volume yet has the record alone.
  auto record = parts_.records.load(spec.name);
  if (!record) return record.error();
  const bool begun = *record && !is_unmade((*record)->state) &&
                     (*record)->state < RecordState::kReady && is_of((*record)->spec, spec);
  if ((*found || begun) && *record && (*record)->retained != wanted) {
    (*record)->retained = wanted;
    if (auto saved = parts_.records.save(**record); !saved) return saved;
  }
  if (!*found || (*found)->ownership->retained == wanted) return {};
  const LogicalVolume& volume = **found;
  return RollbackGuard(lv_parts()).change(volume.group, [&] {
    return lvm_.tag_retained(volume, retained);
  });
}

// Nothing, once it is proven that there is nothing: the volume is not looked for on the one group
// that node.conf names today, and a group that cannot be seen proves nothing.
Result<std::optional<LogicalVolume>> LvBackend::find_or_prove_gone(const VolumeSpec& spec,
                                                                   const std::string& group) {
  auto found = lvm_.find_anywhere(spec.name);
  if (!found) return found.error();
  for (LogicalVolume& volume : *found)
    if (volume.group == group) return std::optional(std::move(volume));
  const auto record = parts_.records.load(spec.name);
  if (!record) return record.error();
  for (const LogicalVolume& volume : *found)
    if (volume.ownership && owns(*volume.ownership, spec))
      return other_group(spec, group, volume.group);
  const bool on_lvm = *record && !is_unmade((*record)->state);
  if (on_lvm && (*record)->volume_group != group)
    return other_group(spec, group, (*record)->volume_group);
  if (auto seen = lvm_.group(group); !seen)
    return Error(ErrorCode::kUnavailable,
                 concat("cannot tell whether ", group, '/', spec.name.text(),
                        " is gone: ", seen.error().message()));
  if (auto gone = check_gone(spec.name, group, *record); !gone) return gone.error();
  // Of what was there once, newer metadata than LVM's may still know.
  if (on_lvm)
    if (auto current = RollbackGuard(lv_parts()).check_unlocked(group); !current)
      return current.error();
  return std::optional<LogicalVolume>();
}

// LVM does not know the name. Then nothing is forgotten of a volume that has got another one, nor
// of one whose device is there: LVM's metadata are older than that.
Status LvBackend::check_gone(const VolumeName& name, const std::string& group,
                             const std::optional<Record>& record) {
  if (record && !record->device_uuid.empty()) {
    const auto renamed = lvm_.find_device(record->device_uuid);
    if (!renamed) return renamed.error();
    if (*renamed)
      return Error(ErrorCode::kInvalid,
                   concat("the volume is called ", (*renamed)->group, '/', (*renamed)->name,
                          " now; give it its name back with `lvrename ", (*renamed)->group, ' ',
                          (*renamed)->name, ' ', name.text(), '`'));
  }
  // Its node in /dev may be gone while the device is not.
  const auto devices = parts_.devices.mapper_devices();
  if (!devices) return devices.error();
  for (const MapperDevice& device : *devices) {
    const bool named = device.name == mapper_name(group, name.text());
    const bool recorded =
        record && !record->device_uuid.empty() && device.uuid.starts_with(record->device_uuid);
    if (named || recorded)
      return older_metadata(concat("LVM does not know logical volume ", group, '/', name.text(),
                                   ", and its device is there"),
                            group);
  }
  return {};
}

Status LvBackend::resume(const Record& record, const NodeConfig& config) {
  Resumer resumer(lv_parts());
  auto own = resumer.resume(record.volume_group, record.spec.name, record.device_uuid, {});
  if (!own || record.spec.backend != Backend::kThin) return own;
  // Which thin pool it is on, the record does not say.
  for (const auto& [name, pool] : config.pools) {
    if (pool.volume_group != record.volume_group || pool.thin_pool.empty()) continue;
    auto resumed =
        resumer.resume(record.volume_group, record.spec.name, record.device_uuid, pool.thin_pool);
    if (!resumed) return resumed;
  }
  return {};
}

Status LvBackend::resume_all(const NodeConfig& config) {
  return Resumer(lv_parts()).resume_all(config);
}

Result<Inventory> LvBackend::inventory(const NodeConfig& config) {
  const auto without = is_without_lvm(config);
  if (!without) return without.error();
  if (*without) return Inventory{};
  auto before = heads(config);
  auto inventory = lvm_.inventory(groups_of(config));
  if (!inventory) return inventory;
  inventory->heads = std::move(before);
  auto spaces = this->spaces(config, inventory->groups);
  if (!spaces) return spaces.error();
  inventory->spaces = std::move(*spaces);
  withhold_room(*inventory, config);
  for (const LogicalVolume& volume : inventory->volumes)
    inventory->holdings.push_back({volume.name,
                                   volume.thin_pool.empty()
                                       ? concat("group:", volume.group)
                                       : concat("thin:", volume.group, '/', volume.thin_pool),
                                   volume.size});
  return inventory;
}

// One that is not known stands for all.
std::map<std::string, MetadataHead> LvBackend::heads(const NodeConfig& config) {
  std::map<std::string, MetadataHead> heads;
  if (!is_thick(config)) return heads;
  for (const std::string& group : groups_of(config)) {
    const auto head = RollbackGuard(lv_parts()).present(group);
    if (!head) return {};
    heads.emplace(group, *head);
  }
  return heads;
}

bool LvBackend::is_as_seen(const std::map<std::string, MetadataHead>& heads,
                           const NodeConfig& config) {
  return !heads.empty() && this->heads(config) == heads;
}

// What is made next on such a group may get the extents of a volume that is in use.
void LvBackend::withhold_room(Inventory& inventory, const NodeConfig& config) {
  const auto of_pools = groups_of(config);
  for (VolumeGroup& group : inventory.groups) {
    if (!of_pools.contains(group.name) && !has_volumes(inventory, group.name)) continue;
    const auto checked = RollbackGuard(lv_parts()).look(group.name);
    if (checked) continue;
    withhold(inventory, group);
    inventory.outdated.emplace(group.name, checked.error().message());
  }
}

// A node that has only quota folders, on a file system of its administrator's, needs no LVM.
Result<bool> LvBackend::is_without_lvm(const NodeConfig& config) const {
  for (const auto& [name, pool] : config.pools)
    if (!pool.volume_group.empty()) return false;
  if (parts_.tools.path("vgs")) return false;
  const auto names = parts_.records.names();
  if (!names) return names.error();
  for (const VolumeName& name : *names)
    // One that cannot be read may be a logical volume's.
    if (const auto record = parts_.records.load(name);
        !record || (*record && !(*record)->volume_group.empty()))
      return false;
  return true;
}

Result<std::vector<Space>> LvBackend::spaces(const NodeConfig& config,
                                             const std::vector<VolumeGroup>& groups) {
  std::vector<Space> spaces;
  const auto known = [&](const std::string& id) {
    return std::find_if(spaces.begin(), spaces.end(),
                        [&](const Space& space) { return space.id == id; });
  };
  for (const auto& [name, defined] : config.pools) {
    const Pool& pool = defined;  // clang 14 lets no lambda name a part of a binding
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const VolumeGroup& g) {
      return g.name == pool.volume_group;
    });
    if (group == groups.end()) continue;  // its volumes cannot be made here, and none are
    const std::string id = space_id(Backend::kLvm, name, pool);
    if (known(id) == spaces.end())
      spaces.push_back({id, group->size, group->free, group->extent, {}});
    if (pool.layout.kind != Layout::Kind::kLinear && known(id)->disks.empty()) {
      auto disks = lvm_.disks(group->name);
      if (!disks) return disks.error();
      known(id)->disks = std::move(*disks);
    }
    const std::string thin_id = space_id(Backend::kThin, name, pool);
    if (thin_id.empty() || known(thin_id) != spaces.end()) continue;
    auto thin = thin_space(pool, thin_id, group->extent);
    if (!thin) return thin.error();
    if (*thin) spaces.push_back(std::move(**thin));
  }
  return spaces;
}

Result<std::optional<Space>> LvBackend::thin_space(const Pool& pool, const std::string& id,
                                                   Bytes extent) {
  const auto thin = lvm_.thin_pool(pool.volume_group, pool.thin_pool);
  if (!thin && thin.error().code() != ErrorCode::kNotFound) return thin.error();
  const auto room = thin ? room_to_report(*thin, pool) : std::nullopt;
  if (!room) return std::optional<Space>();
  return std::optional(Space{id,
                             promisable(*thin, pool),
                             *room,
                             extent,
                             {},
                             Space::ThinUse{thin->data_percent, thin->metadata_percent}});
}

Status LvBackend::settle(const Inventory& inventory, const NodeConfig& config) {
  return LvSettler(lv_parts(), config).run(inventory);
}

}  // namespace flexlocal::engine
