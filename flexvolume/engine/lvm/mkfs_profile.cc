#include "flexvolume/engine/lvm/mkfs_profile.h"

#include <sys/utsname.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kFolder = "/usr/share/xfsprogs/mkfs";

using Version = std::pair<unsigned long long, unsigned long long>;

std::optional<unsigned long long> leading_number(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  unsigned long long number = 0;
  if (!parse_number(text.substr(0, digits), 9999, number)) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

// "5.10" of "5.10", "5.10.0-28-amd64", "5.10.conf".
std::optional<Version> version_of(std::string_view text) {
  const auto major = leading_number(text);
  if (!major || !text.starts_with('.')) return std::nullopt;
  text.remove_prefix(1);
  const auto minor = leading_number(text);
  if (!minor) return std::nullopt;
  return Version{*major, *minor};
}

std::optional<Version> profile_version(std::string_view name) {
  constexpr std::string_view kPrefix = "lts_";
  if (!name.starts_with(kPrefix) || !name.ends_with(".conf")) return std::nullopt;
  return version_of(name.substr(kPrefix.size()));
}

}  // namespace

std::string choose_mkfs_profile(const std::vector<std::string>& names, std::string_view release) {
  const auto kernel = version_of(release);
  std::map<Version, std::string> profiles;
  for (const std::string& name : names)
    if (const auto version = profile_version(name)) profiles.emplace(*version, name);
  if (!kernel || profiles.empty()) return {};
  const auto newer = profiles.upper_bound(*kernel);
  if (newer == profiles.end()) return {};
  return newer == profiles.begin() ? newer->second : std::prev(newer)->second;
}

bool is_distributions_kernel(std::string_view os_release, std::string_view release) {
  constexpr std::string_view kKey = "PLATFORM_ID=\"platform:";
  for (const std::string_view line : split(os_release, '\n')) {
    if (!line.starts_with(kKey)) continue;
    const std::string mark = concat('.', line.substr(kKey.size(), line.rfind('"') - kKey.size()));
    const std::size_t at = mark.size() > 1 ? release.find(mark) : std::string_view::npos;
    if (at == std::string_view::npos) return false;
    const std::string_view rest = release.substr(at + mark.size());
    return rest.empty() || rest.front() < '0' || rest.front() > '9';
  }
  return false;
}

std::string mkfs_profile(const std::string& root) {
  std::vector<std::string> names;
  std::error_code error;  // without the folder there are no profiles
  for (std::filesystem::directory_iterator entry(concat(root, kFolder), error), end;
       !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  utsname kernel{};
  if (::uname(&kernel) != 0) return {};
  const auto os_release = read_file(root + "/etc/os-release", Bytes(64 * kKiB.count()));
  if (os_release && is_distributions_kernel(*os_release, kernel.release)) return {};
  const std::string chosen = choose_mkfs_profile(names, kernel.release);
  return chosen.empty() ? chosen : concat(kFolder, '/', chosen);
}

}  // namespace flexlocal::engine
