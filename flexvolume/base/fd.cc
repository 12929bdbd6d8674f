#include "flexvolume/base/fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "flexvolume/base/text.h"

namespace flexlocal {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status sync_folder(const std::string& folder) {
  const auto fd = open_file(folder, O_RDONLY | O_DIRECTORY);
  if (!fd) return fd.error();
  if (::fsync(fd->get()) != 0) return Error::from_errno(errno, concat("syncing ", folder));
  return {};
}

// Whatever stands in the file's place, the call does not wait: the open of a pipe would, for who is
// at its other end (man 7 fifo).
Result<UniqueFd> open_plain_file(const std::string& path, int flags, unsigned mode = 0) {
  auto fd = open_file(path, flags | O_NONBLOCK | O_NOCTTY, mode);
  if (!fd) return fd;
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) return Error::from_errno(errno, concat("opening ", path));
  if (S_ISREG(status.st_mode)) return fd;
  return Error(ErrorCode::kDenied,
               concat(path, " is not a plain file; see what made it, and remove it"));
}

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error::from_errno(errno, concat("writing ", path));
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Status write_whole(const UniqueFd& fd, std::string_view content, const std::string& path,
                   unsigned mode) {
  // One left behind by a killed process keeps the mode it has.
  if (::fchmod(fd.get(), mode) != 0)
    return Error::from_errno(errno, concat("setting the mode of ", path));
  if (auto written = write_all(fd.get(), content, path); !written) return written;
  if (::fsync(fd.get()) != 0) return Error::from_errno(errno, concat("syncing ", path));
  return {};
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void UniqueFd::reset() {
  // What was written is synced before this wherever it matters, so close has nothing left to say.
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<UniqueFd> open_file(const std::string& path, int flags, unsigned mode) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return Error::from_errno(errno, concat("opening ", path));
  return UniqueFd(fd);
}

std::string descriptor_path(const UniqueFd& fd) { return concat("/proc/self/fd/", fd.get()); }

Result<std::string> read_file(const std::string& path, Bytes most) {
  const auto fd = open_plain_file(path, O_RDONLY);
  if (!fd) return fd.error();
  std::string content;
  char block[16384];
  for (;;) {
    const ssize_t got = ::read(fd->get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, concat("reading ", path));
    if (got == 0) return content;
    content.append(block, static_cast<std::size_t>(got));
    if (content.size() > most.count())
      return Error(ErrorCode::kInvalid, concat(path, " is longer than ", to_string(most)));
  }
}

Status write_file_atomically(const std::string& path, std::string_view content, unsigned mode) {
  const std::string temporary = path + ".new";
  {
    const auto fd = open_plain_file(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode);
    if (!fd) return fd.error();
    if (auto written = write_whole(*fd, content, temporary, mode); !written) {
      (void)::unlink(temporary.c_str());  // what stays of it the next call replaces
      return written;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return Error::from_errno(errno, concat("renaming ", temporary, " to ", path));
  return sync_folder(folder_of(path));
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0) {
    if (errno == ENOENT) return {};
    return Error::from_errno(errno, concat("removing ", path));
  }
  return sync_folder(folder_of(path));
}

Status make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
      return Error::from_errno(errno, concat("making folder ", folder));
    if (end == std::string::npos) return {};
  }
}

}  // namespace flexlocal
