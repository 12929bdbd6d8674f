#include "flexvolume/base/in_child.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "flexvolume/base/child.h"

namespace flexlocal {
namespace {

using Clock = std::chrono::steady_clock;

// For a killed child to end, after all the time that it had.
constexpr std::chrono::milliseconds kPatience(200);

// All above `last`. Kernels before 5.9 have no call for it.
void close_above(int last) {
  if (::syscall(SYS_close_range, last + 1, UINT_MAX, 0) == 0) return;
  for (const int fd : descriptors_above(last)) ::close(fd);
}

// With all signals blocked: none that its parent handles is for it, and SIGKILL ends it all the
// same.
[[noreturn]] void run_child(const std::function<void(const Write&)>& work, int writing, int lock) {
  // Neither is below what it is copied over: this project's programs have their standard streams.
  if (::dup2(writing, STDIN_FILENO) != STDIN_FILENO) ::_exit(1);
  if (::dup2(lock, STDOUT_FILENO) != STDOUT_FILENO) ::_exit(1);
  close_above(STDOUT_FILENO);
  work([](std::string_view left) {
    while (!left.empty()) {
      const ssize_t written = ::write(STDIN_FILENO, left.data(), left.size());
      if (written < 0 && errno != EINTR) ::_exit(1);
      if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
    }
  });
  ::_exit(0);
}

// Until the other end is closed.
Status read_all(int fd, const ChildDeadlines& deadlines, Clock::time_point begin,
                std::string& into) {
  const auto last = begin + deadlines.whole;
  auto end = std::min(last, begin + deadlines.silence);
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return Error(ErrorCode::kDeadline, "it did not end within its time");
    pollfd polled{fd, POLLIN, 0};
    ::poll(&polled, 1, static_cast<int>(std::min<long>(left, INT_MAX)));
    if (polled.revents == 0) continue;
    char block[4096];
    const ssize_t got = ::read(fd, block, sizeof block);
    if (got < 0 && errno != EINTR) return Error::from_errno(errno, "reading from a child");
    if (got == 0) return {};
    if (got <= 0) continue;
    into.append(block, static_cast<std::size_t>(got));
    end = std::min(last, Clock::now() + deadlines.silence);
  }
}

}  // namespace

ChildOutput in_child(const FileLock& lock, const std::function<void(const Write&)>& work,
                     const ChildDeadlines& deadlines) {
  reap_left_behind();
  auto pipe = make_pipe();
  if (!pipe) return {{}, pipe.error()};
  const auto begin = Clock::now();
  pid_t pid = 0;
  {
    const SignalsBlocked blocked;
    pid = ::fork();
    if (pid == 0) run_child(work, pipe->writing.get(), lock.fd());
  }
  if (pid < 0) return {{}, Error::from_errno(errno, "starting a child")};
  Child child(pid);
  pipe->writing.reset();
  ChildOutput output;
  output.ended = read_all(pipe->reading.get(), deadlines, begin, output.text);
  if (!output.ended) {
    child.kill_and_reap(kPatience);
    return output;
  }
  child.reap(0);
  if (child.status() != 0) output.ended = Error(ErrorCode::kFailed, "the child crashed");
  return output;
}

}  // namespace flexlocal
