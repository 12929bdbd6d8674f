#include "flexvolume/cli/installation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/tree.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::cli {
namespace {

constexpr Bytes kMostProgram{256 * kMiB.count()};
constexpr unsigned kProgramMode = 0755;

// O_TRUNC keeps an existing file's mode, and umask narrows a new one's: it is set in words.
Status write_program(const std::string& path, const std::string& content) {
  if (auto written = write_file_atomically(path, content, kProgramMode); !written) return written;
  if (::chmod(path.c_str(), kProgramMode) != 0)
    return Error::from_errno(errno, concat("making ", path, " executable"));
  return {};
}

Status install_first(const std::string& content, const std::string& plugin_folder,
                     const std::string& driver_folder) {
  const std::string hidden = concat(plugin_folder, "/.", engine::kDriverFolder);
  if (auto made = make_folders(hidden); !made) return made;
  if (auto written = write_program(hidden + "/flexlocal", content); !written) return written;
  if (::rename(hidden.c_str(), driver_folder.c_str()) != 0)
    return Error::from_errno(errno, concat("renaming ", hidden, " to ", driver_folder));
  return {};
}

Status install_again(const std::string& content, const std::string& driver_folder) {
  const std::string program = driver_folder + "/flexlocal";
  if (const auto present = read_file(program, kMostProgram); present && *present == content)
    return {};
  const std::string hidden = driver_folder + "/.flexlocal";
  if (auto written = write_program(hidden, content); !written) return written;
  if (::rename(hidden.c_str(), program.c_str()) != 0)
    return Error::from_errno(errno, concat("renaming ", hidden, " to ", program));
  return {};
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_in(const engine::MountEntry& entry, const std::string& folder) {
  return entry.mount_point.starts_with(folder + '/');
}

Status check_unmounted(const std::vector<engine::MountEntry>& table) {
  const std::string inside = concat("/volumes/", engine::kDriverFolder, '/');
  std::vector<std::string> mounted;
  for (const engine::MountEntry& entry : table)
    if (entry.mount_point.find(inside) != std::string::npos) mounted.push_back(entry.mount_point);
  if (mounted.empty()) return {};
  return Error(ErrorCode::kBusy,
               concat("volumes are mounted and kubelet needs the program to unmount them; delete "
                      "their pods first: ",
                      join(mounted, ", ")));
}

// What is on top first.
Status unmount_below(const std::string& folder, const std::vector<engine::MountEntry>& table,
                     engine::Mounter& mounter) {
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (!is_in(*entry, folder)) continue;
    if (auto unmounted = mounter.unmount(entry->mount_point); !unmounted)
      return unmounted.error().context(entry->mount_point);
  }
  return {};
}

// A bind mount of the same file system looks like a folder to whoever goes in.
Status check_nothing_mounted_in(const std::string& folder,
                                const std::vector<engine::MountEntry>& table) {
  for (const engine::MountEntry& entry : table)
    if (is_in(entry, folder))
      return Error(ErrorCode::kBusy,
                   concat("something is mounted at ", entry.mount_point, ", so that ", folder,
                          " is not removed; unmount it first"));
  return {};
}

}  // namespace

Status install(const std::string& program, const std::string& plugin_folder) {
  const auto content = read_file(program, kMostProgram);
  if (!content) return content.error();
  const std::string driver_folder = concat(plugin_folder, '/', engine::kDriverFolder);
  if (exists(driver_folder)) return install_again(*content, driver_folder);
  return install_first(*content, plugin_folder, driver_folder);
}

Status uninstall(const InstalledFiles& files, engine::Mounter& mounter,
                 const std::vector<std::string>& volumes) {
  const auto before = mounter.table();
  if (!before) return before.error();
  if (auto unused = check_unmounted(*before); !unused) return unused;
  if (!volumes.empty())
    return Error(
        ErrorCode::kBusy,
        concat("there are volumes on this node still: ", join(volumes, ", "),
               "; delete their claims first. A retained one goes once its PersistentVolume is "
               "created again with policy Delete"));
  if (auto unmounted = unmount_below(files.pools, *before, mounter); !unmounted) return unmounted;
  const auto after = mounter.table();
  if (!after) return after.error();
  for (const std::string& folder : files.folders)
    if (auto free = check_nothing_mounted_in(folder, *after); !free) return free;
  for (const std::string& folder : files.folders)
    if (auto removed = remove_tree(folder); !removed) return removed;
  for (const std::string_view dot : {"", "."})
    if (auto removed = remove_tree(concat(files.plugin_folder, '/', dot, engine::kDriverFolder));
        !removed)
      return removed;
  return {};
}

}  // namespace flexlocal::cli
