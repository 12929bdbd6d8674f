#include "flexvolume/base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <mutex>
#include <set>

#include "flexvolume/base/text.h"

namespace flexlocal {
namespace {

class LeftBehind {
 public:
  void add(pid_t pid) {
    const std::lock_guard lock(mutex_);
    pids_.insert(pid);
  }
  void reap() {
    const std::lock_guard lock(mutex_);
    std::erase_if(pids_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  }

 private:
  std::mutex mutex_;
  std::set<pid_t> pids_;
};

LeftBehind& left_behind() {
  static LeftBehind all;
  return all;
}

}  // namespace

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

void Child::kill_and_reap(std::chrono::milliseconds most) {
  if (reaped_) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // in case it had no group of its own yet
  for (auto left = most; left.count() > 0 && !reap(WNOHANG); --left) ::poll(nullptr, 0, 1);
  if (!reaped_) left_behind().add(pid_);
  reaped_ = true;
}

void reap_left_behind() { left_behind().reap(); }

std::vector<int> descriptors_above(int last) {
  std::vector<int> open;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", failed), end;
       !failed && entry != end; entry.increment(failed)) {
    unsigned long long fd = 0;
    if (parse_number(entry->path().filename().string(), INT_MAX, fd) && static_cast<int>(fd) > last)
      open.push_back(static_cast<int>(fd));
  }
  return open;
}

}  // namespace flexlocal
