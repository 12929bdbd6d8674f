#include "flexvolume/engine/host/mount_users.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <memory>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

bool is_at_or_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// A process that ended shows as one of these, by when it ended.
bool is_gone(int number) { return number == ENOENT || number == ESRCH || number == EINVAL; }

// The mount namespace's number; nothing when the process is gone.
Result<std::optional<ino_t>> namespace_of(const std::string& process) {
  struct stat status {};
  if (::stat(concat(process, "/ns/mnt").c_str(), &status) == 0) return std::optional(status.st_ino);
  if (is_gone(errno)) return std::optional<ino_t>();
  return Error::from_errno(errno, concat("looking at the mount namespace of ", process));
}

// Of a process that ended meanwhile there is nothing to read.
Result<MountReading> mounts_of(const std::string& process, const KeepMount& keep) {
  auto reading = MountReader().read(concat(process, "/mountinfo"), keep);
  if (reading) return reading;
  const auto still = namespace_of(process);
  if (still && !*still) return MountReading();
  return reading.error().context(concat(process, "/mountinfo"));
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

Result<std::vector<std::string>> processes(const std::string& proc) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(proc.c_str()));
  if (folder == nullptr) return Error::from_errno(errno, concat("opening ", proc));
  std::vector<std::string> found;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    unsigned long long number = 0;
    if (parse_number(entry->d_name, INT32_MAX, number)) found.emplace_back(entry->d_name);
    errno = 0;
  }
  if (errno != 0) return Error::from_errno(errno, concat("listing ", proc));
  return found;
}

}  // namespace

bool is_user(const MountEntry& entry, const MountedFolder& folder) {
  const bool shows = entry.device == folder.device && is_at_or_below(entry.root, folder.root);
  return shows || is_at_or_below(entry.mount_point, folder.path);
}

Status visit_users(const std::string& proc, const WantProcess& wants, const KeepMount& find,
                   const VisitUser& visit) {
  const auto all = processes(proc);
  if (!all) return all.error();
  std::map<ino_t, std::optional<std::string>> found;  // by mount namespace
  for (const std::string& number : *all) {
    if (!wants(number)) continue;
    const std::string process = concat(proc, '/', number);
    const auto space = namespace_of(process);
    if (!space) return space.error();
    if (!*space) continue;
    auto known = found.find(**space);
    if (known == found.end()) {
      const auto reading = mounts_of(process, find);
      if (!reading) return reading.error();
      // Only a table that was read stands for its namespace: a zombie's is empty.
      if (reading->lines == 0) continue;
      known = found.emplace(**space, std::nullopt).first;
      if (!reading->kept.empty()) known->second = reading->kept.front().mount_point;
    }
    if (known->second && visit(number, *known->second) == Visit::kStop) return {};
  }
  return {};
}

Result<std::optional<std::string>> find_user_anywhere(const std::string& proc,
                                                      const MountedFolder& folder) {
  std::optional<std::string> user;
  const auto note = [&](const std::string& process, const std::string& mount_point) {
    user = concat(printable(mount_point), " of process ", process);
    return Visit::kStop;
  };
  auto visited = visit_users(
      proc, [](const std::string&) { return true; },
      [&](const MountEntry& entry) { return is_user(entry, folder); }, note);
  if (!visited) return visited.error();
  return user;
}

}  // namespace flexlocal::engine
