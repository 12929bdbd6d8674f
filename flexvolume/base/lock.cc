#include "flexvolume/base/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "flexvolume/base/text.h"

namespace flexlocal {
namespace {

using Clock = std::chrono::steady_clock;

// flock has no time-out of its own; a short poll costs less than a signal handler would.
Status wait_for(int fd, const std::string& path, Clock::time_point end,
                std::chrono::milliseconds deadline) {
  auto pause = std::chrono::milliseconds(1);
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return Error::from_errno(errno, concat("locking ", path));
    if (Clock::now() >= end)
      return Error(ErrorCode::kDeadline,
                   concat("other calls have held ", path, " for ", deadline.count() / 1000, " s"));
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(20));
  }
  return {};
}

bool is_at(int fd, const std::string& path) {
  struct stat held {};
  struct stat there {};
  return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::string& path, std::chrono::milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  for (;;) {
    auto fd = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW);
    if (!fd) return fd.error();
    if (auto waited = wait_for(fd->get(), path, end, deadline); !waited) return waited.error();
    // Who held it may have removed it, and another may hold its successor.
    if (is_at(fd->get(), path)) return FileLock(std::move(*fd), path);
  }
}

void FileLock::remove_file() const { ::unlink(path_.c_str()); }

}  // namespace flexlocal
