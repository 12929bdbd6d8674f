#include "flexvolume/engine/mount_table.h"

#include <sys/mount.h>

#include <algorithm>
#include <cerrno>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr Bytes kMostTable{64 * kMiB.count()};

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

}  // namespace

std::vector<MountEntry> parse_mount_table(std::string_view text) {
  constexpr std::size_t kDevice = 2;
  constexpr std::size_t kMountPoint = 4;
  constexpr std::size_t kFirstOptional = 6;
  std::vector<MountEntry> entries;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, ' ');
    if (fields.size() <= kFirstOptional) continue;
    const auto separator = std::find(fields.begin() + kFirstOptional, fields.end(), "-");
    if (fields.end() - separator < 3) continue;
    entries.push_back({std::string(fields[kDevice]), unescape(fields[kMountPoint]),
                       std::string(separator[1]), unescape(separator[2])});
  }
  return entries;
}

Result<std::vector<MountEntry>> KernelMounter::table() {
  const auto text = read_file("/proc/self/mountinfo", kMostTable);
  if (!text) return text.error();
  return parse_mount_table(*text);
}

Status KernelMounter::mount(const std::string& device, const std::string& target,
                            const std::string& fs_type, const std::string& data) {
  if (::mount(device.c_str(), target.c_str(), fs_type.c_str(), MS_NODEV | MS_NOSUID,
              data.c_str()) != 0)
    return Error::from_errno(errno, concat("mount of ", device, " as ", fs_type));
  return {};
}

Status KernelMounter::make_read_only(const std::string& target) {
  constexpr unsigned long kFlags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NODEV | MS_NOSUID;
  if (::mount(nullptr, target.c_str(), nullptr, kFlags, nullptr) != 0)
    return Error::from_errno(errno, "making the mount read-only");
  return {};
}

Status KernelMounter::unmount(const std::string& target) {
  if (::umount2(target.c_str(), UMOUNT_NOFOLLOW) != 0) return Error::from_errno(errno, "umount");
  return {};
}

}  // namespace flexlocal::engine
