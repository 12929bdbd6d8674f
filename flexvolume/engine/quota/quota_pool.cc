#include "flexvolume/engine/quota/quota_pool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/quota/project_ids.h"

namespace flexlocal::engine {
namespace {

// As the root of a new XFS; kubelet gives it to the pod's fsGroup.
constexpr unsigned kVolumeMode = 0755;

Bytes limit_of(const std::vector<ProjectQuota>& quotas, std::uint32_t id) {
  for (const ProjectQuota& line : quotas)
    if (line.id == id) return line.limit;
  return {};
}

}  // namespace

Result<std::optional<QuotaFolder>> QuotaPool::find(Area area, const std::string& name) {
  auto folder = shared_.open_folder(area, name);
  if (!folder) {
    if (folder.error().code() == ErrorCode::kNotFound) return std::optional<QuotaFolder>();
    return folder.error();
  }
  const auto text = parts_.folders.mark(*folder);
  if (!text) return text.error().context(shared_.host_path(area, name));
  auto mark = *text ? parse_mark(**text) : std::nullopt;
  return std::optional(QuotaFolder{std::move(*folder), std::move(mark)});
}

Status QuotaPool::check(const QuotaFolder& folder, const VolumeSpec& spec) {
  const std::string path = shared_.host_path(Area::kVolumes, spec.name.text());
  if (!folder.mark || !owns(folder.mark->owner, spec))
    return Error(ErrorCode::kDenied,
                 concat("folder ", path,
                        " exists, but its attribute trusted.flexlocal does not say that it belongs "
                        "to this claim; rename or remove it if nobody needs it"));
  const Bytes size = folder.mark->owner.size;
  if (size != spec.size)
    return Error(ErrorCode::kDenied, concat("the volume on this node was made with ",
                                            to_string(size), ", but the PersistentVolume says ",
                                            to_string(spec.size), "; it is not mounted"));
  const auto project = parts_.folders.project(folder.folder);
  if (!project) return project.error().context(path);
  const std::uint32_t id = folder.mark->project_id;
  const auto quota = this->quota(id);
  if (!quota) return quota.error();
  if (project->id == id && project->inherited && quota->limit >= size) return {};
  return Error(ErrorCode::kCorrupt,
               concat("folder ", path, " is not limited as it was made; set its limit again with `",
                      "xfs_quota -x -c \"project -s -p ", path, ' ', id, "\" -c \"limit -p bhard=",
                      size.count(), ' ', id, "\" ", shared_.mount().path, '`'));
}

Result<ProjectQuota> QuotaPool::quota(std::uint32_t project_id) {
  return parts_.folders.quota(shared_.device(), project_id);
}

Result<QuotaPool::Room> QuotaPool::room() {
  const auto quotas = parts_.folders.quotas(shared_.device());
  if (!quotas) return quotas.error();
  return room_in(*quotas);
}

Result<QuotaPool::Room> QuotaPool::room_in(const std::vector<ProjectQuota>& quotas) {
  const auto capacity = parts_.folders.capacity(shared_.base());
  if (!capacity) return capacity.error();
  return Room{quota_room(*capacity, quotas, overcommit_percent_), capacity->block};
}

Status QuotaPool::check_room(const Room& room, Bytes more, const std::string& doing) const {
  if (more <= room.room.free()) return {};
  return Error(ErrorCode::kNoSpace,
               concat(doing, ": pool \"", name_, "\" (shared file system ", shared_.mount().path,
                      ") has ", to_string(room.room.free()), " free of ", to_string(room.room.size),
                      ", ", to_string(more), " asked"));
}

Status QuotaPool::create(const VolumeSpec& spec, int volume_lock) {
  const auto lock = shared_.lock();
  if (!lock) return lock.error();
  auto built = build(spec, {volume_lock, lock->fd()});
  if (built) return built;
  const std::string doing = concat("cannot create volume ", spec.name.text());
  if (auto discarded = discard_new(spec.name.text()); !discarded)
    parts_.log.warning("what a failed call made could not be removed; the next call will",
                       {{"volume", spec.name.text()}, {"error", discarded.error().message()}});
  return built.error().context(doing);
}

Status QuotaPool::build(const VolumeSpec& spec, const std::vector<int>& locks) {
  const auto half_made = resume(spec);
  if (!half_made) return half_made.error();
  const auto quotas = parts_.folders.quotas(shared_.device());
  if (!quotas) return quotas.error();
  const auto room = room_in(*quotas);
  if (!room) return room.error();
  const Bytes size = block_limit(spec.size, room->block);
  const Bytes counted = *half_made ? limit_of(*quotas, **half_made) : Bytes();
  if (auto fits = check_room(*room, size - counted, "no room"); !fits) return fits;
  const auto id = *half_made ? Result<std::uint32_t>(**half_made) : begin(spec, *quotas);
  if (!id) return id.error();
  if (auto done = limit_new(spec, {*id, size, inode_limit(size)}, locks); !done) return done;
  parts_.log.info("quota folder made", {{"volume", spec.name.text()}, {"project", concat(*id)}});
  return {};
}

// The project id of what a killed call of this very volume left, so that none is used up twice.
Result<std::optional<std::uint32_t>> QuotaPool::resume(const VolumeSpec& spec) {
  const auto found = find(Area::kNew, spec.name.text());
  if (!found) return found.error();
  if (!*found) return std::optional<std::uint32_t>();
  const auto& mark = (*found)->mark;
  const auto text = parts_.folders.mark((*found)->folder);
  if (mark && text && *text == to_mark(spec, mark->project_id))
    return std::optional(mark->project_id);
  if (auto discarded = discard_new(spec.name.text()); !discarded) return discarded.error();
  return std::optional<std::uint32_t>();
}

// An empty folder with a mark and a project id of its own.
Result<std::uint32_t> QuotaPool::begin(const VolumeSpec& spec,
                                       const std::vector<ProjectQuota>& quotas) {
  auto id = ProjectIdCounter(shared_.counter_path()).take(quotas);
  if (!id) return id;
  const std::string& name = spec.name.text();
  if (::mkdirat(shared_.area(Area::kNew).get(), name.c_str(), kVolumeMode) != 0)
    return Error::from_errno(errno, concat("making ", shared_.host_path(Area::kNew, name)));
  const auto folder = shared_.open_folder(Area::kNew, name);
  if (!folder) return folder.error();
  // Whatever umask kubelet runs with.
  if (::fchmod(folder->get(), kVolumeMode) != 0)
    return Error::from_errno(errno, concat("making ", shared_.host_path(Area::kNew, name)));
  if (auto marked = parts_.folders.set_mark(*folder, to_mark(spec, *id)); !marked)
    return marked.error();
  return id;
}

Status QuotaPool::limit_new(const VolumeSpec& spec, const ProjectLimit& limit,
                            const std::vector<int>& locks) {
  const std::string& name = spec.name.text();
  const std::string path = shared_.host_path(Area::kNew, name);
  if (auto set = parts_.xfs_quota.set(shared_.mount().path, path, limit, locks); !set) return set;
  const auto folder = shared_.open_folder(Area::kNew, name);
  if (!folder) return folder.error();
  const auto project = parts_.folders.project(*folder);
  if (!project) return project.error();
  if (project->id != limit.id || !project->inherited)
    return Error(ErrorCode::kFailed,
                 concat("xfs_quota did not give ", path, " the project ", limit.id));
  if (auto verified = verify(limit); !verified) return verified;
  if (auto synced = shared_.sync(*folder); !synced) return synced;
  return shared_.move(Area::kNew, name, shared_.area(Area::kVolumes), name);
}

Status QuotaPool::verify(const ProjectLimit& limit) {
  const auto quota = this->quota(limit.id);
  if (!quota) return quota.error();
  if (quota->limit == limit.size && quota->inode_limit == limit.inodes) return {};
  return Error(ErrorCode::kFailed,
               concat("xfs_quota was to limit project ", limit.id, " to ", limit.size.count(),
                      " bytes and ", limit.inodes, " inodes, but the kernel has ",
                      quota->limit.count(), " and ", quota->inode_limit));
}

Status QuotaPool::raise(const QuotaFolder& folder, Bytes size, int volume_lock) {
  const auto lock = shared_.lock();
  if (!lock) return lock.error();
  const auto room = this->room();
  if (!room) return room.error();
  const std::uint32_t id = folder.mark->project_id;
  const auto quota = this->quota(id);
  if (!quota) return quota.error();
  const ProjectLimit wanted{id, block_limit(size, room->block),
                            inode_limit(block_limit(size, room->block))};
  if (wanted.size < quota->limit)
    return Error(ErrorCode::kInvalid,
                 concat("a volume cannot shrink: it offers ", to_string(quota->limit),
                        ", asked are ", to_string(wanted.size)));
  if (wanted.size == quota->limit) return {};
  if (auto fits = check_room(*room, wanted.size - quota->limit, "no room to grow"); !fits)
    return fits;
  const std::vector<int> locks = {volume_lock, lock->fd()};
  if (auto set = parts_.xfs_quota.set(shared_.mount().path, wanted, locks); !set) return set;
  return verify(wanted);
}

Status QuotaPool::clear_limit(std::uint32_t project_id) {
  const auto quota = this->quota(project_id);
  if (!quota) return quota.error();
  if (quota->limit.count() == 0 && quota->inode_limit == 0) return {};
  const ProjectLimit none{project_id, Bytes(), 0};
  if (auto set = parts_.xfs_quota.set(shared_.mount().path, none, {}); !set) return set;
  return verify(none);
}

Status QuotaPool::discard_new(const std::string& name) {
  const auto found = find(Area::kNew, name);
  if (!found) return found.error();
  if (!*found) return {};
  if ((*found)->mark)
    if (auto cleared = clear_limit((*found)->mark->project_id); !cleared) return cleared;
  if (::unlinkat(shared_.area(Area::kNew).get(), name.c_str(), AT_REMOVEDIR) != 0)
    return Error::from_errno(errno, concat("removing ", shared_.host_path(Area::kNew, name)));
  return {};
}

}  // namespace flexlocal::engine
