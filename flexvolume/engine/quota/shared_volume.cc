#include "flexvolume/engine/quota/shared_volume.h"

#include <algorithm>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/lvm.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kPoolTag = "flexlocal.io/shared-pool=";

constexpr auto kDeadline = std::chrono::minutes(10);

// Each step leads to another one; more means that the volume changes under us.
constexpr int kMostSteps = 8;

}  // namespace

SharedStep next_step(const std::optional<SharedLv>& volume, bool make) {
  if (!volume) return make ? SharedStep::kCreate : SharedStep::kNothing;
  if (!volume->ours) return SharedStep::kRefuseForeign;
  if (!volume->ready) return make ? SharedStep::kRemoveUnready : SharedStep::kNothing;
  return volume->active ? SharedStep::kMount : SharedStep::kActivate;
}

Result<std::optional<SharedLv>> parse_shared_lv(std::string_view report,
                                                const std::string& pool_name) {
  const auto document = JsonDocument::parse(report);
  if (!document)
    return Error(ErrorCode::kCorrupt, concat("LVM's report: ", document.error().message()));
  const JsonView rows = document->root()["report"].at(0)["lv"];
  if (!rows.is_array()) return Error(ErrorCode::kCorrupt, "LVM's report has no table lv");
  if (rows.size() == 0) return std::optional<SharedLv>();
  const JsonView row = rows.at(0);
  const auto tags = split(row["lv_tags"].text(), ',');
  const auto has = [&](std::string_view tag) {
    return std::find(tags.begin(), tags.end(), tag) != tags.end();
  };
  SharedLv volume{.uuid = std::string(row["lv_uuid"].text()),
                  .ours = has(kOwnerTag) && has(concat(kPoolTag, pool_name)),
                  .ready = has(kReadyTag),
                  .active = row["lv_active"].text().starts_with("active")};
  if (volume.uuid.empty()) return Error(ErrorCode::kCorrupt, "LVM's report: a volume without uuid");
  return std::optional(std::move(volume));
}

SharedVolume::SharedVolume(const BackendParts& parts, const std::string& pool_name,
                           const Pool& pool)
    : parts_(parts),
      pool_name_(pool_name),
      pool_(pool),
      name_(concat("flexlocal-", pool_name)),
      device_(device_path(pool.volume_group, name_)),
      path_(concat(kPoolFolder, '/', pool_name)) {}

Result<std::optional<SharedMount>> SharedVolume::ensure(bool make) {
  auto mounted = find_mounted();
  if (!mounted || *mounted) return mounted;
  const auto lock = lock_pool(parts_.locks, pool_name_);
  if (!lock) return lock.error();
  // Another call may have done it while this one waited.
  mounted = find_mounted();
  if (!mounted || *mounted) return mounted;
  return set_up(make, lock->fd());
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

Result<std::optional<SharedMount>> SharedVolume::set_up(bool make, int lock) {
  for (int i = 0; i < kMostSteps; ++i) {
    const auto volume = look_up();
    if (!volume) return volume.error();
    const SharedStep step = next_step(*volume, make);
    if (step == SharedStep::kNothing) return std::optional<SharedMount>();
    if (auto done = carry_out(step, *volume, lock); !done) return done.error();
    if (step == SharedStep::kMount) return find_mounted();
  }
  return Error(ErrorCode::kFailed,
               concat(pool_.volume_group, '/', name_, " keeps changing while it is looked at"));
}

Status SharedVolume::carry_out(SharedStep step, const std::optional<SharedLv>& volume, int lock) {
  switch (step) {
    case SharedStep::kCreate:
      return create(lock);
    case SharedStep::kRemoveUnready:
      return remove(*volume);
    case SharedStep::kActivate:
      return activate(*volume);
    case SharedStep::kMount:
      return mount(lock);
    case SharedStep::kNothing:
      return {};
    case SharedStep::kRefuseForeign:
      break;
  }
  return Error(ErrorCode::kDenied,
               concat("logical volume ", pool_.volume_group, '/', name_,
                      " exists, but its tags do not say that it is flexlocal's; rename or remove "
                      "it if nobody needs it"));
}

Result<std::optional<SharedLv>> SharedVolume::look_up() {
  const auto report = Lvm(parts_.runner, parts_.tools)
                          .report("lvs", "lv_uuid,lv_tags,lv_active",
                                  {"--select", concat("lv_name=\"", name_, "\" && vg_name=\"",
                                                      pool_.volume_group, '"')});
  if (!report) return report.error();
  return parse_shared_lv(*report, pool_name_);
}

Status SharedVolume::create(int lock) {
  std::vector<std::string> arguments = {"--yes", "--quiet", "-W", "y", "-Z", "y"};
  for (std::string& argument : lvcreate_arguments(pool_.layout))
    arguments.push_back(std::move(argument));
  const std::vector<std::string> named = {"--name",   name_,
                                          "--size",   concat(pool_.quota_size.count(), 'b'),
                                          "--addtag", std::string(kOwnerTag),
                                          "--addtag", concat(kPoolTag, pool_name_),
                                          "--addtag", std::string(kNewTag),
                                          "--",       pool_.volume_group};
  arguments.insert(arguments.end(), named.begin(), named.end());
  {
    const auto group_lock = lock_volume_group(parts_.locks, pool_.volume_group);
    if (!group_lock) return group_lock.error();
    if (const auto created = run("lvcreate", std::move(arguments), {lock}); !created)
      return explain_failed_create(created.error());
  }
  auto made = make_file_system(lock);
  if (made) return made;
  const auto volume = look_up();
  if (volume && *volume && (*volume)->ours && !(*volume)->ready)
    if (auto removed = remove(**volume); !removed)
      parts_.log.warning("what a failed call made could not be removed; the next call will",
                         {{"volume", name_}, {"error", removed.error().message()}});
  return made;
}

Status SharedVolume::explain_failed_create(const Error& error) {
  const std::string doing =
      concat("cannot make the shared file system of ", to_string(pool_.quota_size));
  const auto group = Lvm(parts_.runner, parts_.tools).group(pool_.volume_group);
  if (!group) return group.error().context(doing);
  if (group->free < cost(pool_.layout, pool_.quota_size, group->extent))
    return Error(ErrorCode::kNoSpace, concat(doing, ": volume group \"", pool_.volume_group,
                                             "\" has ", to_string(group->free), " free"));
  return error.context(doing);
}

Status SharedVolume::make_file_system(int lock) {
  if (const auto made = run("mkfs.xfs", {"-q", "-f", "-K", "--", device_}, {lock}); !made)
    return made.error();
  // From here on it may be mounted and hold data, and is never removed again.
  const auto volume = look_up();
  if (!volume) return volume.error();
  if (!*volume || !(*volume)->ours)
    return Error(ErrorCode::kFailed, concat(device_, " vanished while its file system was made"));
  const auto tagged =
      run("lvchange",
          {"--quiet", "--addtag", std::string(kReadyTag), "--deltag", std::string(kNewTag),
           "--select", concat("lv_uuid=\"", (*volume)->uuid, '"'), "--", pool_.volume_group});
  if (!tagged) return tagged.error();
  parts_.log.info("shared file system made", {{"pool", pool_name_}, {"device", device_}});
  return {};
}

Status SharedVolume::remove(const SharedLv& volume) {
  const auto group_lock = lock_volume_group(parts_.locks, pool_.volume_group);
  if (!group_lock) return group_lock.error();
  return Lvm(parts_.runner, parts_.tools).remove(as_logical_volume(volume));
}

Status SharedVolume::activate(const SharedLv& volume) {
  return Lvm(parts_.runner, parts_.tools).activate(as_logical_volume(volume));
}

LogicalVolume SharedVolume::as_logical_volume(const SharedLv& volume) const {
  LogicalVolume lv;
  lv.group = pool_.volume_group;
  lv.name = name_;
  lv.uuid = volume.uuid;
  return lv;
}

// By the program, which runs in the host's mount namespace when a daemon in a pod does this. It
// keeps the lock: if this call is killed, it goes on, and the next call must not mount beside it.
Status SharedVolume::mount(int lock) {
  if (auto made = make_folders(parts_.root + path_); !made) return made;
  const auto done =
      run("mount", {"-t", "xfs", "-o", "prjquota,nodev,nosuid", "--", device_, path_}, {lock});
  return done ? Status() : done.error();
}

Result<std::string> SharedVolume::run(std::string_view tool, std::vector<std::string> arguments,
                                      const std::vector<int>& keep) {
  auto path = parts_.tools.path(tool);
  if (!path) return path.error();
  auto output = parts_.runner.run({std::move(*path), std::move(arguments), kDeadline, keep});
  if (!output) return output.error();
  if (output->exit_code != 0)
    return Error(ErrorCode::kFailed, concat(tool, " failed (exit code ", output->exit_code,
                                            "): ", printable(trim(output->err), 500)));
  return std::move(output->out);
}

Bytes surely_offered(Bytes size) {
  const Bytes log(std::clamp(size.count() / 2048, 64 * kMiB.count(), 2 * kGiB.count()));
  return size - log - Bytes(64 * kMiB.count()) - Bytes(size.count() / 32);
}

}  // namespace flexlocal::engine
