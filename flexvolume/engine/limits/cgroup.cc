#include "flexvolume/engine/limits/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "flexvolume/base/folder.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::size_t kMostContent = 1U << 20U;

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= NAME_MAX && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace

Result<Cgroup> Cgroup::open_root(const std::string& path) {
  auto folder = flexlocal::open_file(path, O_RDONLY | O_DIRECTORY);
  if (!folder) return folder.error();
  return Cgroup(std::move(*folder), path);
}

Result<Cgroup> Cgroup::child(std::string_view name) const {
  if (!is_plain_name(name))
    return Error(ErrorCode::kInvalid, concat('"', printable(name, 60), "\" is no cgroup's name"));
  std::string path = concat(path_, '/', name);
  auto folder = open_folder_in(folder_, std::string(name), O_RDONLY, path);
  if (!folder) return folder.error();
  return Cgroup(std::move(*folder), std::move(path));
}

Result<std::vector<std::string>> Cgroup::children() const {
  const auto listing = list_folder(folder_);
  if (!listing) return listing.error().context(path_);
  std::vector<std::string> names;
  while (const dirent* entry = next_entry(*listing))
    if (entry->d_type == DT_DIR && is_plain_name(entry->d_name)) names.emplace_back(entry->d_name);
  if (errno != 0) return Error::from_errno(errno, concat("listing ", path_));
  return names;
}

Result<UniqueFd> Cgroup::open_file(std::string_view file, int flags) const {
  UniqueFd fd(::openat(folder_.get(), std::string(file).c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (fd.valid()) return fd;
  if (errno == ELOOP)
    return Error(ErrorCode::kInvalid,
                 concat(path_, '/', file, " is a link and not a cgroup's file"));
  return Error::from_errno(errno, concat("opening ", path_, '/', file));
}

Result<std::string> Cgroup::read(std::string_view file) const {
  const auto fd = open_file(file, O_RDONLY);
  if (!fd) return fd.error();
  std::string content;
  char block[4096];
  ssize_t got = 0;
  while ((got = ::read(fd->get(), block, sizeof block)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, concat("reading ", path_, '/', file));
    content.append(block, static_cast<std::size_t>(got));
    if (content.size() > kMostContent)
      return Error(ErrorCode::kInvalid,
                   concat(path_, '/', file, " is too long for a cgroup's file"));
  }
  return content;
}

Status Cgroup::write(std::string_view file, std::string_view text) const {
  const auto fd = open_file(file, O_WRONLY);
  if (!fd) return fd.error();
  ssize_t written = 0;
  while ((written = ::write(fd->get(), text.data(), text.size())) < 0 && errno == EINTR) {
  }
  if (written == static_cast<ssize_t>(text.size())) return {};
  return Error::from_errno(written < 0 ? errno : EIO,
                           concat("writing \"", text, "\" to ", path_, '/', file));
}

}  // namespace flexlocal::engine
