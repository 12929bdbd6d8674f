#include "flexvolume/engine/quota/shared_volume.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/run_tool.h"
#include "flexvolume/engine/lvm/lv_grower.h"
#include "flexvolume/engine/lvm/lv_maker.h"
#include "flexvolume/engine/lvm/rollback_guard.h"
#include "flexvolume/engine/lvm/suspension.h"
#include "flexvolume/engine/volume/volume_folder.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

// A log that was not written back is replayed first, which a slow disk takes a while for.
constexpr auto kMountDeadline = std::chrono::minutes(10);

}  // namespace

SharedVolume::SharedVolume(const BackendParts& parts, const std::string& pool_name,
                           const Pool& pool)
    : records_(parts.records.of_pools()),
      parts_{parts.runner, parts.tools,  parts.devices, parts.mounter, records_,
             parts.locks,  parts.groups, parts.log,     parts.root},
      pool_name_(pool_name),
      pool_(pool),
      name_(VolumeName::of_pool(pool_name)),
      device_(device_path(pool.volume_group, name_.text())),
      path_(concat(kPoolFolder, '/', pool_name)),
      lvm_(parts.runner, parts.tools),
      filesystems_(parts.runner, parts.tools, parts.devices, parts.root) {}

LvParts SharedVolume::lv_parts() { return {parts_, lvm_, filesystems_}; }

Result<std::optional<SharedMount>> SharedVolume::ensure(bool make) {
  auto mounted = find_mounted();
  if (!mounted) return mounted;
  if (*mounted) {
    if (auto resumed = resume(); !resumed) return resumed.error();
    return mounted;
  }
  const auto lock = lock_pool(parts_.locks, pool_name_);
  if (!lock) return lock.error();
  // Another call may have done it while this one waited.
  mounted = find_mounted();
  if (!mounted || *mounted) return mounted;
  const auto spec = find_spec(make);
  if (!spec) return spec.error();
  if (!*spec) return std::optional<SharedMount>();
  return set_up(**spec, lock->fd());
}

// Whoever mounts a folder of it would wait for ever on a device that a killed command left
// suspended.
Status SharedVolume::resume() {
  const auto record = records_.load(name_);
  if (!record) return record.error();
  if (!*record || (*record)->device_uuid.empty()) return {};
  return Resumer(lv_parts()).resume(pool_.volume_group, name_, (*record)->device_uuid, {});
}

Result<std::optional<SharedMount>> SharedVolume::find_mounted() {
  const auto table = parts_.mounter.table();
  if (!table) return table.error();
  if (mounts_at(*table, path_).empty()) return std::optional<SharedMount>();
  auto found = find_shared_mount(*table, path_);
  if (!found) return found.error();
  if (found->source != device_)
    return Error(ErrorCode::kInvalid, concat(printable(found->source), " is mounted at ", path_,
                                             ", where the pool's ", device_, " belongs"));
  return std::optional(std::move(*found));
}

// What is there, or is to be made: its size is the one that it was begun with. Nothing when there
// is nothing and nothing is wanted.
Result<std::optional<VolumeSpec>> SharedVolume::find_spec(bool make) {
  const auto record = records_.load(name_);
  if (!record) return record.error();
  // A promise is only of what node.conf said then.
  if (!*record || (*record)->state == RecordState::kPromised) return find_unrecorded(make);
  if (!make && (*record)->state < RecordState::kReady) return std::optional<VolumeSpec>();
  return std::optional(shared_spec(pool_name_, (*record)->spec.size));
}

// On a host that lost its records the tags say what there is. What they do not know is made by this
// call's own promise: it holds no volume yet.
Result<std::optional<VolumeSpec>> SharedVolume::find_unrecorded(bool make) {
  const auto found = lvm_.find(pool_.volume_group, name_);
  if (!found) return found.error();
  VolumeSpec spec = shared_spec(pool_name_, pool_.quota_size);
  const bool ours = *found && (*found)->ownership && owns(*(*found)->ownership, spec);
  if (ours) spec.size = (*found)->ownership->size;
  if (ours && !make && !(*found)->ownership->ready) return std::optional<VolumeSpec>();
  if (!*found && !make) return std::optional<VolumeSpec>();
  // What is there gets no promise: with its file system it needs none, and without one, or as a
  // stranger's, it is refused.
  const auto recorded = *found ? records_.remove(name_) : records_.save(promised_record(spec, {}));
  if (!recorded) return recorded.error();
  return std::optional(std::move(spec));
}

Result<std::optional<SharedMount>> SharedVolume::set_up(const VolumeSpec& spec, int lock) {
  LvMaker maker(lv_parts(), spec, pool_, lock);
  if (const auto device = maker.run(); !device)
    return device.error().context("the pool's shared file system");
  tag_ready();
  if (auto mounted = mount(lock); !mounted) return mounted.error();
  if (maker.record().grow_file_system)
    if (auto grown = LvGrower(lv_parts(), spec, pool_).finish(maker.record()); !grown)
      parts_.log.warning("a shared file system has not grown with its logical volume yet",
                         {{"pool", pool_name_}, {"error", grown.error().message()}});
  return find_mounted();
}

// Nothing goes by it while there is the record, so that its want keeps nobody waiting.
void SharedVolume::tag_ready() {
  const auto tagged = [&]() -> Status {
    const auto found = lvm_.find_on(pool_.volume_group, name_);
    if (!found) return found.error();
    return *found ? tag_ready(**found) : Status();
  }();
  if (!tagged)
    parts_.log.warning("the tags of a shared file system do not say yet that it is ready",
                       {{"pool", pool_name_}, {"error", tagged.error().message()}});
}

Status SharedVolume::tag_ready(const LogicalVolume& volume) {
  if (!volume.ownership || !volume.ownership->shared || volume.ownership->ready) return {};
  return RollbackGuard(parts_, lvm_).change(volume.group, [&] { return lvm_.tag_ready(volume); });
}

// By the program, which runs in the host's mount namespace when a daemon in a pod does this. It
// keeps the lock: if this call is killed, it goes on, and the next call must not mount beside it.
Status SharedVolume::mount(int lock) {
  if (auto made = make_folders(parts_.root + path_); !made) return made;
  return do_tool(parts_.runner, parts_.tools,
                 {"mount",
                  {"-t", "xfs", "-o", "prjquota,nodev,nosuid", "--", device_, path_},
                  kMountDeadline,
                  {lock}});
}

Status SharedVolume::check_room(const LogicalVolume& volume, Bytes promised) {
  const auto group = lvm_.group(volume.group);
  if (!group) return group.error();
  const Bytes more = cost(pool_.layout, pool_.quota_size, group->extent) -
                     cost(pool_.layout, volume.size, group->extent);
  if (more <= group->free - std::min(promised, group->free)) return {};
  return Error(ErrorCode::kNoSpace,
               concat("its growth to ", to_string(pool_.quota_size), " takes ", to_string(more),
                      " of volume group \"", group->name, "\", which has ", to_string(group->free),
                      " free, and claims may be promised ", to_string(promised), " of it"));
}

Status SharedVolume::settle(const LogicalVolume& volume, Bytes promised) {
  const auto glance = records_.load(name_);
  if (!glance) return glance.error();
  const bool small = volume.size < pool_.quota_size;
  const bool settled = !*glance || (*glance)->state != RecordState::kReady ||
                       (*glance)->device_uuid != volume.device_uuid ||
                       (volume.ownership->ready && !small && !(*glance)->grow_file_system);
  if (settled) return {};
  const auto lock = lock_pool(parts_.locks, pool_name_);
  if (!lock) return lock.error();
  if (auto tagged = tag_ready(volume); !tagged) return tagged;
  const auto record = records_.load(name_);
  if (!record) return record.error();
  if (!*record || (*record)->state != RecordState::kReady) return {};
  if (!small && !(*record)->grow_file_system) return {};
  const Status room = small ? check_room(volume, promised) : Status();
  const VolumeSpec spec = shared_spec(pool_name_, (*record)->spec.size);
  const Bytes size = room ? std::max(pool_.quota_size, volume.size) : volume.size;
  auto grown = LvGrower(lv_parts(), spec, pool_).run(size);
  return grown ? room : grown;
}

Bytes surely_offered(Bytes size) {
  const Bytes log(std::clamp(size.count() / 2048, 64 * kMiB.count(), 2 * kGiB.count()));
  return size - log - Bytes(64 * kMiB.count()) - Bytes(size.count() / 32);
}

}  // namespace flexlocal::engine
