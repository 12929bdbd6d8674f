// Running a program of the host: a vector of arguments, never a shell.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"

namespace flexlocal {

struct Command {
  std::string path;                    // absolute
  std::vector<std::string> arguments;  // without argv[0]
  // The program and everything in its process group is killed after this.
  std::chrono::milliseconds deadline = std::chrono::seconds(120);
  // Descriptors the program inherits, under their numbers: locks that must outlive this process.
  std::vector<int> keep;
  // "NAME=value", beside the fixed environment and instead of what is there by the same name.
  std::vector<std::string> environment = {};
  // A descriptor: the program is killed once it can be read (kCancelled). -1: none.
  int stop = -1;
};

struct CommandOutput {
  int exit_code = 0;
  std::string out;  // at most ProcessLimits::out; more is an error, cut data is never parsed
  std::string err;  // the first ProcessLimits::err bytes; the rest is read and dropped
};

// Runs `command` to its end. An Error means that there is no exit code: it could not be started
// (kNotFound), was ended by a signal (kFailed) or had to be killed (kDeadline, kCancelled). Exit
// codes other than zero are for the caller to judge.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  virtual Result<CommandOutput> run(const Command& command) = 0;
};

struct ProcessLimits {
  Bytes out{16 * kMiB.count()};  // what LVM reports of some 20,000 volumes
  Bytes err{64 * kKiB.count()};
};

// Marks every descriptor above 2 that this process was started with close-on-exec. For main(): what
// the project opens itself is marked already, and a daemon's limit of open files can be so large
// that the child of a fork cannot try them all.
void mark_inherited_close_on_exec();

// The real one: an environment of its own, stdin from /dev/null, stdout and stderr apart, every
// other descriptor closed, a process group of its own. Threads may call run() at once.
class ProcessRunner final : public CommandRunner {
 public:
  // `namespaces_of`: empty, or the /proc folder of a process (of process 1, say) whose mount, IPC
  // and UTS namespaces the program runs in. IPC: libdevmapper waits for udev on a SysV semaphore
  // (man dmsetup, udevcreatecookie), which the host's udev must see. UTS: LVM's system id may be
  // the host's name (man lvmsystemid).
  explicit ProcessRunner(std::string namespaces_of = {}, ProcessLimits limits = {})
      : namespaces_of_(std::move(namespaces_of)), limits_(limits) {}

  Result<CommandOutput> run(const Command& command) override;

 private:
  std::string namespaces_of_;
  ProcessLimits limits_;
};

}  // namespace flexlocal
