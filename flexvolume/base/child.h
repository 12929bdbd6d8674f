// What starting a program and working in a child have in common.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <vector>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/result.h"

namespace flexlocal {

struct Pipe {
  UniqueFd reading;
  UniqueFd writing;
};
Result<Pipe> make_pipe();

// No signal reaches this thread, nor a child that it starts, while this lives.
class SignalsBlocked {
 public:
  SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

 private:
  sigset_t before_{};
};

// In a child. The daemon blocks or handles signals; neither may be handed on. Handlers go first:
// until exec the child may have its parent's memory, where a handler of the parent's would do harm.
void unblock_signals();

// A child that is killed and reaped if it was not reaped before.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill_and_reap(); }

  // waitpid(2)'s options. True once it is reaped.
  bool reap(int options);
  // A process in uninterruptible sleep, on a dying disk say, does not even die of SIGKILL. It is
  // waited for a little, not to hold its caller for ever, and then left behind.
  void kill_and_reap(std::chrono::milliseconds most = std::chrono::seconds(5));
  pid_t pid() const { return pid_; }
  int status() const { return status_; }

 private:
  pid_t pid_;
  bool reaped_ = false;
  int status_ = 0;
};

// Reaps what was left behind and has ended since. What is left as this process ends is process 1's.
void reap_left_behind();

// This process's open descriptors above `last`, by /proc: none without it.
std::vector<int> descriptors_above(int last);

}  // namespace flexlocal
