// A system call of a process that ptrace has stopped: what it is, and whether it can matter
// outside. x86-64 only, as user-mode Linux is.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <string>

namespace flexlocal::test {

class StoppedCall {
 public:
  // Reads the registers of `process`, which must be stopped. Throws std::system_error.
  explicit StoppedCall(pid_t process);

  long number() const { return static_cast<long>(registers_.orig_rax); }
  long result() const { return static_cast<long>(registers_.rax); }

  // False only for what is known to leave everything outside of the process as it was: a new kind
  // of call is never passed over.
  bool changes_something() const;

  // The call's name, or its number.
  std::string name() const;
  // The paths or the file it acts on; empty when they are not known.
  std::string object() const;
  // The first argument as a text.
  std::string first_path() const { return text(registers_.rdi); }

  // Makes a call void whose entry the process has stopped at: a dying process does not finish it.
  void cancel() const;

 private:
  bool writes_to_storage() const;
  bool submits_write() const;
  // What the process has in its memory there. Throws std::system_error.
  long word(unsigned long long address) const;
  std::string descriptor(unsigned long long fd) const;
  std::string file(unsigned long long fd) const;
  std::string text(unsigned long long address) const;

  pid_t process_;
  user_regs_struct registers_{};
};

}  // namespace flexlocal::test
