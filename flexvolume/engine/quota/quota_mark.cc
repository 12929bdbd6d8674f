#include "flexvolume/engine/quota/quota_mark.h"

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

// Left out: a mark that is short enough stays in the folder's inode. A longer one takes a block,
// which is charged to the volume.
constexpr std::string_view kPrefix = "flexlocal.io/";

}  // namespace

std::string to_mark(const VolumeSpec& spec, std::uint32_t project_id) {
  auto tags = to_tags(spec, concat(project_id));
  std::erase(tags, kNewTag);
  for (std::string& tag : tags)
    if (tag.starts_with(kPrefix)) tag.erase(0, kPrefix.size());
  return join(tags, ",");
}

std::optional<QuotaMark> parse_mark(std::string_view text) {
  std::vector<std::string> tags;
  for (const std::string_view tag : split(text, ',')) tags.push_back(concat(kPrefix, tag));
  auto owner = parse_tags(std::vector<std::string_view>(tags.begin(), tags.end()));
  unsigned long long id = 0;
  if (!owner || !parse_number(owner->attempt, UINT32_MAX - 1, id) || id == 0) return std::nullopt;
  return QuotaMark{std::move(*owner), static_cast<std::uint32_t>(id)};
}

}  // namespace flexlocal::engine
