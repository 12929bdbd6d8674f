#include "flexvolume/engine/host/mount_users.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>

#include "flexvolume/base/folder.h"
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

// The numbers among a folder's names.
Result<std::vector<std::string>> numbers_in(const std::string& path) {
  const auto folder = open_file(path, O_RDONLY | O_DIRECTORY);
  if (!folder) return folder.error();
  const auto listing = list_folder(*folder);
  if (!listing) return listing.error().context(path);
  std::vector<std::string> found;
  unsigned long long number = 0;
  while (const dirent* entry = next_entry(*listing))
    if (parse_number(entry->d_name, INT32_MAX, number)) found.emplace_back(entry->d_name);
  if (errno != 0 && !is_gone(errno)) return Error::from_errno(errno, concat("listing ", path));
  return found;
}

// The mount namespaces that were looked at, and of each the first mount that is sought.
class Namespaces {
 public:
  explicit Namespaces(const KeepMount& sought) : sought_(sought) {}

  // Where the process has one of the mounts. A process whose first thread has ended lives on in the
  // others, and only these still have its namespace.
  Result<std::optional<std::string>> sought_in(const std::string& process) {
    auto view = look(process);
    if (!view) return view.error();
    if (view->seen) return std::move(view->mount_point);
    const auto threads = numbers_in(concat(process, "/task"));
    if (!threads && threads.error().code() != ErrorCode::kNotFound) return threads.error();
    if (!threads) return std::optional<std::string>();
    for (const std::string& thread : *threads) {
      view = look(concat(process, "/task/", thread));
      if (!view) return view.error();
      if (view->seen) return std::move(view->mount_point);
    }
    return std::optional<std::string>();
  }

 private:
  struct View {
    bool seen = false;  // else the process, or thread, has ended
    std::optional<std::string> mount_point{};
  };

  Result<View> look(const std::string& process) {
    const auto space = namespace_of(process);
    if (!space) return space.error();
    if (!*space) return View();
    if (const auto known = known_.find(**space); known != known_.end()) return known->second;
    const auto reading = mounts_of(process, sought_);
    if (!reading) return reading.error();
    // Only a table that was read stands for its namespace: that of what has ended is empty.
    if (reading->lines == 0) return View();
    View view{true};
    if (!reading->kept.empty()) view.mount_point = reading->kept.front().mount_point;
    return known_.emplace(**space, std::move(view)).first->second;
  }

  const KeepMount& sought_;
  std::map<ino_t, View> known_;
};

}  // namespace

bool is_user(const MountEntry& entry, const MountedFolder& folder) {
  const bool shows = entry.device == folder.device && is_at_or_below(entry.root, folder.root);
  return shows || is_at_or_below(entry.mount_point, folder.path);
}

Status visit_users(const std::string& proc, const WantProcess& wants, const KeepMount& find,
                   const VisitUser& visit) {
  const auto all = numbers_in(proc);
  if (!all) return all.error();
  Namespaces namespaces(find);
  for (const std::string& number : *all) {
    if (!wants(number)) continue;
    const auto found = namespaces.sought_in(concat(proc, '/', number));
    if (!found) return found.error();
    if (*found && visit(number, **found) == Visit::kStop) return {};
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
