#include "flexvolume/base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace flexlocal {

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "making a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void unblock_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool Child::reap(int options) {
  if (reaped_) return true;
  pid_t got;
  while ((got = ::waitpid(pid_, &status_, options)) < 0 && errno == EINTR) {
  }
  reaped_ = got != 0;
  return reaped_;
}

void Child::kill_and_reap() {
  if (reaped_) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // in case it had no group of its own yet
  constexpr int kMostMillis = 5000;
  for (int millis = 0; millis < kMostMillis && !reap(WNOHANG); ++millis) ::poll(nullptr, 0, 1);
  reaped_ = true;
}

}  // namespace flexlocal
