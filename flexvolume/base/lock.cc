#include "flexvolume/base/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <thread>

#include "flexvolume/base/text.h"

namespace flexlocal {

Result<FileLock> FileLock::acquire(const std::string& path, std::chrono::milliseconds deadline) {
  auto fd = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW);
  if (!fd) return fd.error();
  const auto end = std::chrono::steady_clock::now() + deadline;
  // flock has no time-out of its own; a short poll costs less than a signal handler would.
  auto pause = std::chrono::milliseconds(1);
  while (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return Error::from_errno(errno, concat("locking ", path));
    if (std::chrono::steady_clock::now() >= end)
      return Error(ErrorCode::kDeadline,
                   concat("other calls have held ", path, " for ", deadline.count() / 1000, " s"));
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(20));
  }
  return FileLock(std::move(*fd));
}

}  // namespace flexlocal
