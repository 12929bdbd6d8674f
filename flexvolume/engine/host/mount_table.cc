#include "flexvolume/engine/host/mount_table.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

// "\040" -> " ": space, tab, newline and backslash are written in octal.
std::string unescape(std::string_view text) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) &&
        octal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool is_asked_for_options(std::string_view type) {
  return type == "xfs" || type == "ext4" || type.starts_with("cgroup");
}

}  // namespace

bool has_option(std::string_view options, std::string_view wanted) {
  const auto all = split(options, ',');
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

std::optional<MountEntry> parse_mount_line(std::string_view line) {
  constexpr std::size_t kDevice = 2;
  constexpr std::size_t kRoot = 3;
  constexpr std::size_t kMountPoint = 4;
  constexpr std::size_t kOptions = 5;
  constexpr std::size_t kFirstOptional = 6;
  const auto fields = split(line, ' ');
  if (fields.size() <= kFirstOptional) return std::nullopt;
  const auto separator = std::find(fields.begin() + kFirstOptional, fields.end(), "-");
  if (fields.end() - separator < 3) return std::nullopt;
  const std::string_view type = separator[1];
  const std::string_view super = fields.end() - separator > 3 ? separator[3] : "";
  return MountEntry{std::string(fields[kDevice]),
                    unescape(fields[kRoot]),
                    unescape(fields[kMountPoint]),
                    std::string(type),
                    unescape(separator[2]),
                    std::string(is_asked_for_options(type) ? super : ""),
                    has_option(fields[kOptions], "ro") || has_option(super, "ro")};
}

std::vector<MountEntry> mounts_at(const std::vector<MountEntry>& table, std::string_view path) {
  std::vector<MountEntry> found;
  std::copy_if(table.begin(), table.end(), std::back_inserter(found),
               [&](const MountEntry& entry) { return entry.mount_point == path; });
  return found;
}

}  // namespace flexlocal::engine
