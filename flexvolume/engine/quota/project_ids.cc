#include "flexvolume/engine/quota/project_ids.h"

#include <algorithm>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

const ProjectQuota* find_line(const std::vector<ProjectQuota>& quotas, std::uint32_t id) {
  const auto found = std::lower_bound(
      quotas.begin(), quotas.end(), id,
      [](const ProjectQuota& line, std::uint32_t wanted) { return line.id < wanted; });
  return found != quotas.end() && found->id == id ? &*found : nullptr;
}

std::uint64_t above_all_used(const std::vector<ProjectQuota>& quotas) {
  std::uint64_t next = kFirstProjectId;
  for (const ProjectQuota& line : quotas)
    // A stranger at the very top must not use up the range.
    if (!line.is_empty() && line.id < kLastProjectId)
      next = std::max<std::uint64_t>(next, line.id + 1ULL);
  return next;
}

}  // namespace

Result<std::uint32_t> next_project_id(std::optional<std::uint32_t> counter,
                                      const std::vector<ProjectQuota>& quotas) {
  std::uint64_t id = counter ? std::max(*counter, kFirstProjectId) : above_all_used(quotas);
  for (; id <= kLastProjectId; ++id) {
    const ProjectQuota* line = find_line(quotas, static_cast<std::uint32_t>(id));
    if (line == nullptr || line->is_empty()) return static_cast<std::uint32_t>(id);
  }
  return Error(ErrorCode::kNoSpace, "the file system has no project id left for another volume");
}

Result<std::optional<std::uint32_t>> ProjectIdCounter::load() const {
  const auto text = read_file(path_, kKiB);
  if (!text && text.error().code() != ErrorCode::kNotFound) return text.error();
  unsigned long long next = 0;
  if (!text || !parse_number(trim(*text), UINT32_MAX, next)) return std::optional<std::uint32_t>();
  return std::optional(static_cast<std::uint32_t>(next));
}

Result<std::uint32_t> ProjectIdCounter::take(const std::vector<ProjectQuota>& quotas) const {
  const auto counter = load();
  if (!counter) return counter.error();
  auto id = next_project_id(*counter, quotas);
  if (!id) return id;
  if (auto saved = write_file_atomically(path_, concat(*id + 1, '\n'), 0600); !saved)
    return saved.error();
  return id;
}

}  // namespace flexlocal::engine
