#include "flexvolume/base/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "flexvolume/base/child.h"
#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal {
namespace {

using Clock = std::chrono::steady_clock;

// LC_ALL: output is parsed. LVM_SUPPRESS_FD_WARNINGS: the descriptors in Command::keep are there
// on purpose (man lvm). PATH: some tools start others of theirs (lvm starts thin_check).
constexpr std::array<const char*, 3> kEnvironment = {
    "LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LVM_SUPPRESS_FD_WARNINGS=1"};

// All that the child needs, made before vfork: until exec only async-signal-safe calls are allowed
// (man signal-safety), and what they change is the parent's memory too.
struct Launch {
  std::vector<char*> argv;
  std::vector<char*> environment;
  UniqueFd mount_namespace;
  UniqueFd ipc_namespace;
  UniqueFd uts_namespace;
  UniqueFd null;
  Pipe out, err, fault;
  const std::vector<int>* keep = nullptr;
};

void mark_close_on_exec(const std::vector<int>& keep) {
  // CLOSE_RANGE_CLOEXEC is Linux 5.11. On older kernels there is mark_inherited_close_on_exec().
  constexpr int kCloseOnExec = 1 << 2;
  ::close_range(3, ~0U, kCloseOnExec);
  for (const int fd : keep) ::fcntl(fd, F_SETFD, 0);
}

[[noreturn]] void run_child(const Launch& launch) {
  ::setpgid(0, 0);
  unblock_signals();
  const bool ready =
      ::dup2(launch.null.get(), STDIN_FILENO) >= 0 &&
      ::dup2(launch.out.writing.get(), STDOUT_FILENO) >= 0 &&
      ::dup2(launch.err.writing.get(), STDERR_FILENO) >= 0 &&
      (!launch.uts_namespace.valid() || ::setns(launch.uts_namespace.get(), CLONE_NEWUTS) == 0) &&
      (!launch.ipc_namespace.valid() || ::setns(launch.ipc_namespace.get(), CLONE_NEWIPC) == 0) &&
      (!launch.mount_namespace.valid() ||
       ::setns(launch.mount_namespace.get(), CLONE_NEWNS) == 0) &&
      ::chdir("/") == 0;
  if (ready) {
    mark_close_on_exec(*launch.keep);
    ::execve(launch.argv[0], launch.argv.data(), launch.environment.data());
  }
  const int number = errno;
  [[maybe_unused]] const ssize_t told = ::write(launch.fault.writing.get(), &number, sizeof number);
  ::_exit(127);
}

// vfork: copying the page tables of a process costs more than many a program that it starts, and a
// daemon's memory need not be counted twice for it. Returns when exec has been tried. What the
// analyzer warns of is kept to: the child only makes system calls, on what was prepared before.
pid_t start_child(const Launch& launch) {
  const SignalsBlocked blocked;
  const pid_t pid = ::vfork();      // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (pid == 0) run_child(launch);  // NOLINT(clang-analyzer-unix.Vfork)
  return pid;
}

Status prepare(Launch& launch, const std::string& namespaces_of) {
  auto null = open_file("/dev/null", O_RDONLY);
  if (!null) return null.error();
  launch.null = std::move(*null);
  for (Pipe* pipe : {&launch.out, &launch.err, &launch.fault}) {
    auto made = make_pipe();
    if (!made) return made.error();
    *pipe = std::move(*made);
  }
  if (namespaces_of.empty()) return {};
  auto uts_namespace = open_file(namespaces_of + "/ns/uts", O_RDONLY);
  if (!uts_namespace) return uts_namespace.error();
  launch.uts_namespace = std::move(*uts_namespace);
  auto mount_namespace = open_file(namespaces_of + "/ns/mnt", O_RDONLY);
  if (!mount_namespace) return mount_namespace.error();
  auto ipc_namespace = open_file(namespaces_of + "/ns/ipc", O_RDONLY);
  if (!ipc_namespace) return ipc_namespace.error();
  launch.mount_namespace = std::move(*mount_namespace);
  launch.ipc_namespace = std::move(*ipc_namespace);
  return {};
}

// exec does not change what the pointers lead to.
std::vector<char*> argument_vector(const Command& command) {
  std::vector<char*> argv = {const_cast<char*>(command.path.c_str())};
  for (const std::string& argument : command.arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  return argv;
}

std::vector<char*> environment_vector(const Command& command) {
  std::vector<char*> environment;
  for (const std::string& variable : command.environment)
    environment.push_back(const_cast<char*>(variable.c_str()));
  for (const std::string_view fixed : kEnvironment) {
    const std::string_view name = fixed.substr(0, fixed.find('=') + 1);
    const bool replaced =
        std::any_of(command.environment.begin(), command.environment.end(),
                    [name](const std::string& variable) { return variable.starts_with(name); });
    if (!replaced) environment.push_back(const_cast<char*>(fixed.data()));
  }
  environment.push_back(nullptr);
  return environment;
}

// Ends when exec has closed the child's end: 0; or with the errno of what failed before that.
int read_fault(const UniqueFd& fault) {
  int number = 0;
  ssize_t told = 0;
  while ((told = ::read(fault.get(), &number, sizeof number)) < 0 && errno == EINTR) {
  }
  return told == sizeof number ? number : 0;
}

struct Stream {
  UniqueFd fd;
  std::string* into;
  std::uint64_t most;
  bool overflown = false;

  // False at the end of the stream.
  bool drain() {
    char block[16384];
    const ssize_t got = ::read(fd.get(), block, sizeof block);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    const std::size_t room = most - std::min<std::uint64_t>(most, into->size());
    overflown = overflown || static_cast<std::size_t>(got) > room;
    into->append(block, std::min(static_cast<std::size_t>(got), room));
    return true;
  }
};

// Readable once the process has ended; invalid on a kernel older than 5.3.
UniqueFd end_of(pid_t pid) { return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

enum class Ending { kItsOwn, kOverdue, kStopped };

// Reads both streams until the child has ended and there is nothing more to read: a grandchild that
// keeps a stream open must not hold us.
Ending collect(Child& child, Stream& out, Stream& err, Clock::time_point end, int stop) {
  const UniqueFd ended = end_of(child.pid());
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return Ending::kOverdue;
    std::array<pollfd, 4> polled = {{{out.fd.get(), POLLIN, 0},
                                     {err.fd.get(), POLLIN, 0},
                                     {ended.get(), POLLIN, 0},
                                     {stop, POLLIN, 0}}};
    // Without word of the child's end it is asked for: often, once nothing else tells of it.
    const bool streaming = out.fd.valid() || err.fd.valid();
    const long slice = ended.valid() ? INT_MAX : streaming ? 50 : 1;
    ::poll(polled.data(), polled.size(), static_cast<int>(std::min<long>(left, slice)));
    if (polled[3].revents != 0) return Ending::kStopped;
    const bool quiet = polled[0].revents == 0 && polled[1].revents == 0;
    if (quiet && child.reap(WNOHANG)) return Ending::kItsOwn;
    if (polled[0].revents != 0 && !out.drain()) out.fd.reset();
    if (polled[1].revents != 0 && !err.drain()) err.fd.reset();
  }
}

Error killed(const Command& command, Ending why) {
  if (why == Ending::kStopped)
    return Error(ErrorCode::kCancelled, concat(command.path, " was no longer wanted"));
  return Error(ErrorCode::kDeadline, concat(command.path, " did not end within ",
                                            command.deadline.count() / 1000, " s and was killed"));
}

}  // namespace

void mark_inherited_close_on_exec() {
  for (const int fd : descriptors_above(STDERR_FILENO)) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

Result<CommandOutput> ProcessRunner::run(const Command& command) {
  reap_left_behind();
  Launch launch;
  launch.keep = &command.keep;
  if (auto prepared = prepare(launch, namespaces_of_); !prepared)
    return prepared.error().context(concat("starting ", command.path));
  launch.argv = argument_vector(command);
  launch.environment = environment_vector(command);
  const auto end = Clock::now() + command.deadline;
  const pid_t pid = start_child(launch);
  if (pid < 0) return Error::from_errno(errno, concat("starting ", command.path));
  Child child(pid);

  for (Pipe* pipe : {&launch.out, &launch.err, &launch.fault}) pipe->writing.reset();
  CommandOutput output;
  Stream out{std::move(launch.out.reading), &output.out, limits_.out.count()};
  Stream err{std::move(launch.err.reading), &output.err, limits_.err.count()};
  if (const int number = read_fault(launch.fault.reading); number != 0)
    return Error::from_errno(number, concat("starting ", command.path));
  if (const Ending ending = collect(child, out, err, end, command.stop);
      ending != Ending::kItsOwn) {
    child.kill_and_reap();
    return killed(command, ending);
  }
  if (out.overflown)
    return Error(ErrorCode::kFailed,
                 concat(command.path, " printed more than ", to_string(limits_.out)));
  if (WIFSIGNALED(child.status()))
    return Error(ErrorCode::kFailed,
                 concat(command.path, " was ended by signal ", WTERMSIG(child.status())));
  output.exit_code = WEXITSTATUS(child.status());
  return output;
}

}  // namespace flexlocal
