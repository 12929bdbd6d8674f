#include "flexvolume/cli/installation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::plugin {
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

}  // namespace

Status install(const std::string& program, const std::string& plugin_folder) {
  const auto content = read_file(program, kMostProgram);
  if (!content) return content.error();
  const std::string driver_folder = concat(plugin_folder, '/', engine::kDriverFolder);
  if (exists(driver_folder)) return install_again(*content, driver_folder);
  return install_first(*content, plugin_folder, driver_folder);
}

Status uninstall(const std::string& plugin_folder, const std::vector<engine::MountEntry>& table) {
  const std::string inside = concat("/volumes/", engine::kDriverFolder, '/');
  std::vector<std::string> mounted;
  for (const engine::MountEntry& entry : table)
    if (entry.mount_point.find(inside) != std::string::npos) mounted.push_back(entry.mount_point);
  if (!mounted.empty())
    return Error(ErrorCode::kBusy,
                 concat("volumes are mounted and kubelet needs the program to unmount them; delete "
                        "their pods first: ",
                        join(mounted, ", ")));
  std::error_code error;
  for (const std::string_view dot : {"", "."}) {
    std::filesystem::remove_all(concat(plugin_folder, '/', dot, engine::kDriverFolder), error);
    if (error) return Error::from_errno(error.value(), "removing the driver's folder");
  }
  return {};
}

}  // namespace flexlocal::plugin
