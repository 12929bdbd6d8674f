#include "flexvolume/engine/engine.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume/volume_folder.h"
#include "flexvolume/engine/volume_holder.h"

namespace flexlocal::engine {
namespace {

// "Several pods mounted and unmounted in between" ends well before this many layers.
constexpr int kMostLayers = 64;

Error of_another_backend(const VolumeName& name) {
  return Error(ErrorCode::kDenied, concat("this node's record of volume ", name.text(),
                                          " is of another backend; nothing is changed"));
}

Error changed_meanwhile() {
  return Error(ErrorCode::kUnavailable, "the volume's record was changed meanwhile; try again");
}

// What the kernel says of a file system that it cannot make sense of, or cannot read: EINVAL,
// EUCLEAN, EBADMSG, EIO. A device that is away, a file system that it does not know or too little
// memory are none.
bool may_be_damaged(const Error& error) {
  return error.code() == ErrorCode::kInvalid || error.code() == ErrorCode::kCorrupt ||
         error.code() == ErrorCode::kFailed;
}

Error may_hold_data(const VolumeName& name, std::string_view by) {
  return Error(ErrorCode::kConflict, concat("a pod may have had volume ", name.text(), ", by ", by,
                                            "; nothing is removed"));
}

// What is wrong with a file system is for a person; the kernel's log says more than its error.
Error explain_failed_mount(const Error& error, const MountSource& source) {
  if (source.is_bind() || !may_be_damaged(error)) return error;
  const bool xfs = source.fs_type == "xfs";
  // The kernel's word for it is EINVAL (fs/xfs/xfs_mount.c, xfs_uuid_mount).
  const std::string_view copied = xfs && error.code() == ErrorCode::kInvalid
                                      ? "; if the log says \"duplicate UUID\", a copy of the "
                                        "volume is mounted: unmount that"
                                      : "";
  return Error(ErrorCode::kCorrupt,
               concat(error.message(),
                      "; the volume is not formatted again, look at the kernel's log and at `",
                      xfs ? "xfs_repair -n " : "e2fsck -n ", source.device, '`', copied));
}

}  // namespace

Engine::Engine(const Host& host, const NodeConfig& config)
    : host_(host),
      config_(config),
      tools_(config.tools, host.tool_root),
      records_(host.record_folder),
      parts_{host.runner,       tools_,   host.devices,  host.mounter, records_, host.lock_folder,
             host.group_folder, host.log, host.tool_root},
      lv_backend_(parts_),
      quota_backend_(parts_, project_folders_),
      io_limiter_({host.mounter, host.devices, host.log, host.tool_root,
                   concat(host.lock_folder, "/io-limits"),
                   DurableCounter(host.counter_folder, host.lock_folder, kIoLimitsNotApplied)}),
      admission_(records_,
                 concat(host.record_folder.substr(0, host.record_folder.rfind('/')), "/cluster"),
                 DurableCounter(host.counter_folder, host.lock_folder, kMountsRefused), host.log),
      copies_(records_, host.lock_folder),
      pod_names_(concat(host.lock_folder, "/pod-names")) {}

Status Engine::join_cluster(const std::string& cluster_id) {
  return admission_.join_cluster(cluster_id);
}

Result<Engine::Subject> Engine::subject(const VolumeSpec& spec) {
  auto pool = find_pool(config_, spec.pool);
  if (!pool) return pool.error();
  auto lock = lock_volume(host_.lock_folder, spec.name);
  if (!lock) return lock.error();
  VolumeBackend& backend =
      is_folder(spec.backend) ? static_cast<VolumeBackend&>(quota_backend_) : lv_backend_;
  return Subject{spec, std::move(*pool), backend, std::move(*lock)};
}

Status Engine::mount(const MountRequest& request) {
  // Before anything else, so that a forged call learns nothing of this node, and leaves no lock.
  const auto seen = admission_.admit(request.volume, request.pod_namespace);
  if (!seen) return seen.error();
  if (auto shape = check_volume_folder(config_.kubelet_dir, request.folder); !shape) return shape;
  MountLimits limits(io_limiter_, seen->spec, request.pod_uid);
  if (auto found = limits.find(); !found) return found;
  const auto subject = this->subject(seen->spec);
  if (!subject) return subject.error();
  if (auto same = check_unchanged(request, *seen); !same) return same;
  // The folder is looked at before anything is made, and again, held open, for the mount itself.
  if (auto folder = VolumeFolder::open(config_.kubelet_dir, request.folder); !folder)
    return folder.error();
  const auto source = subject->backend.make(seen->spec, subject->pool, subject->lock.fd());
  if (!source) return source.error();
  if (auto limited = limits.apply(source->device); !limited) return limited;
  if (auto noted = note_use(request.volume.name); !noted) return noted;
  if (auto mounted = mount_on(request, *source, seen->spec); !mounted) return mounted;
  limits.conclude();
  if (!source->file_system_behind) return {};
  // The data is there and whole: a pod that can read it is better than one that waits.
  if (auto finished = subject->backend.finish_growth(seen->spec); !finished)
    host_.log.warning(
        "the file system has not grown with its volume yet",
        {{"volume", request.volume.name.text()}, {"error", finished.error().message()}});
  return {};
}

// Synced before the mount, so that no kill leaves a volume with data of which the record says that
// no pod had it.
Status Engine::note_use(const VolumeName& name) const {
  auto record = records_.load(name);
  if (!record) return record.error();
  if (!*record || (*record)->used) return {};
  (*record)->used = true;
  return records_.save(**record);
}

Status Engine::make(const VolumeCall& call) {
  const auto seen = admission_.admit_growth(call);
  if (!seen) return seen.error();
  const auto subject = this->subject(seen->spec);
  if (!subject) return subject.error();
  const auto now = admission_.admit_growth(call);
  if (!now) return now.error();
  if (!(now->spec == seen->spec)) return changed_meanwhile();
  const auto source = subject->backend.make(seen->spec, subject->pool, subject->lock.fd());
  return source ? Status() : source.error();
}

// Of what was read before the volume's lock was there.
Status Engine::check_unchanged(const MountRequest& request, const Record& seen) const {
  const auto now = admission_.admit(request.volume, request.pod_namespace);
  if (!now) return now.error();
  if (now->spec == seen.spec) return {};
  return changed_meanwhile();
}

Status Engine::mount_on(const MountRequest& request, const MountSource& source,
                        const VolumeSpec& spec) {
  const auto folder = VolumeFolder::open(config_.kubelet_dir, request.folder);
  if (!folder) return folder.error();
  const auto table = host_.mounter.table();
  if (!table) return table.error();
  if (const auto there = mounts_at(*table, folder->path()); !there.empty()) {
    if (source.is_shown_by(there.back())) return {};
    return Error(ErrorCode::kBusy, concat(there.back().source, " is mounted on ", request.folder,
                                          " already; unmount it first"));
  }
  if (source.for_one_pod)
    if (auto taken = take_for_one_pod(request, source, *table, folder->path()); !taken)
      return taken;
  const auto itself = folder->open_itself();
  if (!itself) return itself.error();
  auto mounted = host_.mounter.mount(source, {request.read_only, spec.mount_options},
                                     {descriptor_path(*itself), folder->through_parent()});
  if (!mounted) return explain_failed_mount(mounted.error(), source);
  return {};
}

// By the mounts that are there while the volume's lock is held: neither a kill nor a reboot leaves
// anything that could keep the next pod away.
Status Engine::take_for_one_pod(const MountRequest& request, const MountSource& source,
                                const std::vector<MountEntry>& table, const std::string& folder) {
  const std::string own_uid = pod_uid_of(folder);
  auto holder = find_holder(table, source, folder);
  const std::string last_uid = holder ? std::string() : pod_names_.last_uid(request.volume.name);
  if (!last_uid.empty() && last_uid != own_uid) {
    auto elsewhere = find_holder_elsewhere(host_.proc, source, last_uid);
    if (!elsewhere) return elsewhere.error().context("looking whether another pod has the volume");
    holder = std::move(*elsewhere);
  }
  const VolumeName& volume = request.volume.name;
  if (holder) return held_by_another(*holder, pod_names_.of(volume, holder->pod_uid));
  const std::string name = concat(request.pod_namespace, '/', request.pod_name);
  if (auto kept = pod_names_.keep(volume, {own_uid, name}); !kept)
    host_.log.warning("the name of the pod that has the volume could not be kept",
                      {{"volume", volume.text()}, {"error", kept.error().message()}});
  return {};
}

Status Engine::unmount(const std::string& folder_path) {
  const auto kubelet_dir = kubelet_dir_of(folder_path);
  if (!kubelet_dir) return kubelet_dir.error();
  const auto folder = VolumeFolder::open(*kubelet_dir, folder_path);
  if (!folder) return folder.error().code() == ErrorCode::kNotFound ? Status() : folder.error();
  for (int layer = 0; layer < kMostLayers; ++layer) {
    const auto table = host_.mounter.table();
    if (!table) return table.error();
    const auto there = mounts_at(*table, folder->path());
    if (there.empty()) return {};
    if (auto resumed = resume_below(*table, there.back()); !resumed) return resumed;
    if (auto unmounted = host_.mounter.unmount(folder->through_parent()); !unmounted)
      return unmounted.error().context(folder->path());
  }
  return Error(ErrorCode::kBusy,
               concat("more than ", kMostLayers, " mounts are stacked on ", folder->path()));
}

// The last unmount of a suspended device may wait for ever, and then nothing can kill it. One that
// leaves another mount of it does not touch the device.
Status Engine::resume_below(const std::vector<MountEntry>& table, const MountEntry& mounted) {
  const auto count = std::count_if(table.begin(), table.end(), [&](const MountEntry& entry) {
    return entry.device == mounted.device;
  });
  if (count > 1) return {};
  if (const auto of_pod = parse_volume_folder(mounted.mount_point)) {
    // An unmount needs no record: without a whole one, the device is looked at all the same.
    const auto record = records_.load(of_pod->volume);
    const bool on_lv = record && *record && !(*record)->device_uuid.empty();
    if (on_lv && mounted.source == device_path((*record)->volume_group, of_pod->volume.text()))
      if (auto resumed = lv_backend_.resume(**record, config_); !resumed) return resumed;
  }
  const auto state = host_.devices.mapper_state(mounted.source);
  // What is no device-mapper device is never suspended.
  if (!state || !state->suspended) return {};
  return Error(ErrorCode::kBusy,
               concat("device ", printable(mounted.source),
                      " is suspended, so that its unmount may wait for ever; the node daemon "
                      "resumes volumes of flexlocal's own, for others see `dmsetup info`"));
}

Status Engine::check_tools(const VolumeSpec& spec) const {
  std::vector<std::string_view> needed = {"lvcreate", "lvchange", "blkid"};
  needed.push_back(spec.fs_type == FsType::kExt4 ? "mkfs.ext4" : "mkfs.xfs");
  if (spec.backend == Backend::kThin) needed.push_back("dmsetup");
  if (spec.backend == Backend::kQuota) needed = {"xfs_quota"};
  for (const std::string_view tool : needed)
    if (const auto found = tools_.path(tool); !found) return found.error();
  return {};
}

Status Engine::grow(const GrowRequest& request) {
  const auto record = admission_.admit_growth(request.volume);
  return record ? grow(record->spec, request.size) : record.error();
}

Status Engine::grow(const VolumeSpec& spec, Bytes size) {
  const auto subject = this->subject(spec);
  if (!subject) return subject.error();
  return subject->backend.grow(spec, subject->pool, size, subject->lock.fd());
}

Result<Removal> Engine::remove(const VolumeSpec& spec) {
  const auto subject = this->subject(spec);
  if (!subject) return subject.error();
  const auto record = records_.load(spec.name);
  if (!record) return record.error();
  return remove(*subject, *record);
}

Result<Removal> Engine::remove_unused(const VolumeSpec& spec) {
  const auto subject = this->subject(spec);
  if (!subject) return subject.error();
  const auto record = records_.load(spec.name);
  if (!record) return record.error();
  const bool unused = *record && !is_unmade((*record)->state) && !(*record)->used;
  if (!unused) return may_hold_data(spec.name, "its record");
  // What is being wiped was looked into before.
  if ((*record)->state == RecordState::kWiping) return remove(*subject, *record);
  const auto empty = subject->backend.is_empty(spec, subject->pool, subject->lock);
  const bool unreadable = !empty && empty.error().code() == ErrorCode::kCorrupt;
  if (!empty && !unreadable) return empty.error();
  if (empty && *empty) return remove(*subject, *record);
  const std::string why = empty ? "the files in it" : empty.error().message();
  host_.log.warning("a volume that no pod had by its record is kept",
                    {{"volume", spec.name.text()}, {"reason", why}});
  if (auto noted = note_use(spec.name); !noted) return noted.error();
  return may_hold_data(spec.name, why);
}

Result<Removal> Engine::remove(const Subject& subject, const std::optional<Record>& record) {
  const VolumeSpec& spec = subject.spec;
  if (record)
    if (auto closed = close(*record, spec); !closed) return closed.error();
  auto removal = subject.backend.remove(spec, subject.pool);
  if (removal && removal->done) {
    io_limiter_.forget(spec.name);
    pod_names_.forget(spec.name);
    subject.lock.remove_file();
  }
  return removal;
}

// Before anything else of a removal, which may have to wait for its pods' end: nobody mounts it
// anew.
Status Engine::close(Record record, const VolumeSpec& spec) const {
  if (is_folder(record.spec.backend) != is_folder(spec.backend))
    return of_another_backend(spec.name);
  const bool open = is_of(record.spec, spec) && !record.claim_uid.empty();
  if (!open || is_unmade(record.state)) return {};
  record.claim_uid.clear();
  return records_.save(record);
}

Status Engine::set_retained(const VolumeSpec& spec, Retained retained) {
  const auto subject = this->subject(spec);
  if (!subject) return subject.error();
  return subject->backend.set_retained(spec, subject->pool, retained);
}

Result<Inventory> Engine::inventory() {
  Inventory recorded;
  if (auto added = add_records(recorded); !added) return added.error();
  auto inventory = lv_backend_.inventory(config_);
  if (!inventory) return inventory;
  inventory->records = std::move(recorded.records);
  inventory->damaged = std::move(recorded.damaged);
  inventory->behind = std::move(recorded.behind);
  if (auto added = quota_backend_.add_to(*inventory, config_); !added) return added.error();
  return inventory;
}

// A record that cannot be read is for a person, and no promise.
Status Engine::add_records(Inventory& inventory) const {
  const auto names = records_.names();
  if (!names) return names.error();
  for (const VolumeName& name : *names) {
    const auto record = records_.load(name);
    if (record && *record && (*record)->grow_file_system) inventory.behind.insert(name.text());
    if (!record) inventory.damaged.emplace(name.text(), record.error().message());
    if (record && *record) inventory.records.emplace(name.text(), **record);
  }
  return {};
}

Status Engine::settle(const Inventory& inventory) {
  quota_backend_.settle_pools(inventory, config_);
  quota_backend_.restore_records(inventory, config_);
  return lv_backend_.settle(inventory, config_);
}

Status Engine::resume_suspended() { return lv_backend_.resume_all(config_); }

Status Engine::refresh_io_limits() { return io_limiter_.refresh(); }

}  // namespace flexlocal::engine
