#include "flexvolume/engine/quota/quota_removal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/mount_users.h"
#include "flexvolume/engine/quota/folder_removal.h"

namespace flexlocal::engine {
namespace {

// "pvc-<uid>-1048576": the project's id keeps one removal apart from the next.
bool parse_heap_name(std::string_view text, std::string_view volume, std::uint32_t& id) {
  unsigned long long number = 0;
  if (!text.starts_with(volume) || !text.substr(volume.size()).starts_with('-')) return false;
  if (!parse_number(text.substr(volume.size() + 1), UINT32_MAX, number)) return false;
  id = static_cast<std::uint32_t>(number);
  return true;
}

}  // namespace

Result<std::optional<QuotaFolder>> QuotaRemoval::find_removable() {
  const std::string& name = spec_.name.text();
  auto found = pool_.find(Area::kVolumes, name);
  if (!found || !*found) return found;
  const auto& mark = (*found)->mark;
  if (!mark || !owns(mark->owner, spec_))
    return Error(ErrorCode::kDenied,
                 concat("folder ", pool_.shared().host_path(Area::kVolumes, name),
                        " is not removed: its attribute trusted.flexlocal does not say that it is "
                        "this claim's"));
  if (auto unused = check_unused(); !unused) return unused.error();
  return found;
}

Status QuotaRemoval::check_unused() {
  const SharedFileSystem& shared = pool_.shared();
  const std::string& name = spec_.name.text();
  const auto user = find_user_anywhere(
      tuning_.proc, {shared.mount().number, SharedFileSystem::path_in(Area::kVolumes, name),
                     shared.host_path(Area::kVolumes, name)});
  if (!user) return user.error().context("cannot tell whether the volume is mounted");
  if (!*user) return {};
  return Error(
      ErrorCode::kBusy,
      concat("volume ", name, " is in use and is not removed yet: it is ", "mounted at ", **user));
}

// Whose it was its own mark says, to the end. Nothing is made for it: where the shared file system
// is full, removing volumes is all that helps.
Status QuotaRemoval::bury(const QuotaFolder& folder) {
  SharedFileSystem& shared = pool_.shared();
  const std::string& name = spec_.name.text();
  unlock_folder(folder.folder);
  return shared.move(Area::kVolumes, name, shared.area(Area::kTrash),
                     concat(name, '-', folder.mark->project_id));
}

Result<std::vector<std::string>> QuotaRemoval::heaps() {
  const auto names = pool_.shared().names(Area::kTrash);
  if (!names) return names.error();
  std::vector<std::string> found;
  std::uint32_t id = 0;
  for (const std::string& name : *names)
    if (parse_heap_name(name, spec_.name.text(), id)) found.push_back(name);
  return found;
}

Result<bool> QuotaRemoval::is_buried() {
  const auto found = heaps();
  if (!found) return found.error();
  return !found->empty();
}

Result<Removal> QuotaRemoval::clear_away() {
  if (auto discarded = pool_.discard_new(spec_.name.text()); !discarded) return discarded.error();
  const auto found = heaps();
  if (!found) return found.error();
  for (const std::string& name : *found) {
    auto cleared = clear_heap(name);
    if (!cleared || !cleared->done) return cleared;
  }
  return Removal{};
}

Result<Removal> QuotaRemoval::clear_heap(const std::string& name) {
  const auto heap = pool_.find(Area::kTrash, name);
  if (!heap) return heap.error();
  if (!*heap) return Removal{};
  if ((*heap)->mark && !owns((*heap)->mark->owner, spec_))
    return Error(ErrorCode::kDenied, concat(pool_.shared().host_path(Area::kTrash, name),
                                            " is not this claim's and is not removed"));
  std::uint32_t id = 0;
  parse_heap_name(name, spec_.name.text(), id);
  return clear_folder(Area::kTrash, name, (*heap)->folder, id);
}

Result<Removal> QuotaRemoval::clear_in_place(const QuotaFolder& folder) {
  return clear_folder(Area::kVolumes, spec_.name.text(), folder.folder, folder.mark->project_id);
}

Result<Removal> QuotaRemoval::clear_folder(Area area, const std::string& name,
                                           const UniqueFd& folder, std::uint32_t id) {
  const auto end = std::chrono::steady_clock::now() + tuning_.removal_slice;
  const auto emptied = empty_heap(folder, [&] { return std::chrono::steady_clock::now() >= end; });
  if (!emptied) return emptied.error().context(concat("removing the files of ", name));
  if (!*emptied) {
    const auto quota = pool_.quota(id);
    if (!quota) return quota.error();
    return Removal{.done = false, .wiped = quota->limit - quota->used, .size = quota->limit};
  }
  if (auto cleared = pool_.clear_limit(id); !cleared) return cleared.error();
  const UniqueFd& above = pool_.shared().area(area);
  if (::unlinkat(above.get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return Error::from_errno(errno, concat("removing ", name));
  if (auto synced = pool_.shared().sync(above); !synced) return synced.error();
  return Removal{};
}

}  // namespace flexlocal::engine
