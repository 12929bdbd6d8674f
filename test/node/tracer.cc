// Kills a program at the n-th place where a kill can matter, so that a test can try them all.
//
//   tracer [--kill-at N] [--victim program|tool|both] [--phase entry|exit|both] [--list]
//   [--report FILE] -- PROGRAM [ARGUMENT]...
//
// Counted, and killed at with SIGKILL when it is the N-th (from 1; 0, the default: never), are,
// with --victim program, the default:
//   - the entry and the exit of every system call of the program that is not known to change
//     nothing outside of it; killed at its entry, the call is not made. --phase: only the one or
//     the other. The world is the same at an exit and at the next entry, unless a tool is running.
//   - a tool about to be started: the forked child dies with the program
//   - a tool started: the program dies, the tool goes on alone, as orphans do
//   - a tool ended, as seen by the program
// Tools are let go as soon as they are started: they run untraced and at full speed.
// With --victim tool, or both: the same system calls of the tools that the program starts, and of
// what those start. The tools die there; with `both` the program does, too, as when a container
// ends, else it goes on with a tool that was killed, as by its deadline or for want of memory.
//
// Leaves one line in FILE (else on standard error), "killed at 7: rename (entry) /path" or "ran to
// the end after 41 points"; with --list a line for each point before it.
// Exit status: 137 when the program was killed here, else its own (128 + n for a signal n);
// 2: wrong usage, 125: tracing failed.

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "test/node/stopped_call.h"

namespace {

using flexlocal::test::StoppedCall;

struct Options {
  long kill_at = 0;
  std::string_view phase = "both";
  std::string_view victim = "program";
  bool list = false;
  std::string report;
  std::vector<char*> command;  // ends in nullptr, as exec wants it

  bool counts(bool entry) const { return phase != (entry ? "exit" : "entry"); }
  bool follows_tools() const { return victim != "program"; }
};

struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const std::string& doing) {
  throw std::system_error(errno, std::generic_category(), doing);
}

class Tracer {
 public:
  explicit Tracer(const Options& options) : options_(options) { open_report(); }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() {
    if (report_ != stderr) std::fclose(report_);
  }

  // Returns the exit status.
  int run() {
    start();
    for (;;) {
      int status = 0;
      const pid_t process = ::waitpid(-1, &status, __WALL);
      if (process < 0) fail("waitpid");
      if (!WIFSTOPPED(status)) {
        traced_.erase(process);
        if (process == program_) return ended(status);
        continue;
      }
      if (!look_at(process, status)) return killed();
    }
  }

 private:
  struct Process {
    bool begun = false;    // its first stop, ptrace's own, is behind it
    bool in_call = false;  // between the entry and the exit of a system call
    bool is_tool = false;
    bool loading = false;  // the exit of its execve is still to come
  };

  void open_report() {
    if (options_.report.empty()) return;
    report_ = std::fopen(options_.report.c_str(), "we");
    if (report_ == nullptr) fail("opening " + options_.report);
  }

  void start() {
    program_ = ::fork();
    if (program_ < 0) fail("fork");
    if (program_ == 0) {
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      ::raise(SIGSTOP);
      ::execv(options_.command[0], options_.command.data());
      std::fprintf(stderr, "tracer: %s: %s\n", options_.command[0], std::strerror(errno));
      ::_exit(127);
    }
    int status = 0;
    if (::waitpid(program_, &status, __WALL) != program_ || !WIFSTOPPED(status)) fail("starting");
    constexpr long kEvents = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC |
                             PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
    if (::ptrace(PTRACE_SETOPTIONS, program_, nullptr, kEvents) != 0) fail("PTRACE_SETOPTIONS");
    traced_[program_].begun = true;
    resume(program_, 0);
  }

  void resume(pid_t process, long signal) {
    if (::ptrace(PTRACE_SYSCALL, process, nullptr, signal) != 0 && errno != ESRCH) fail("resuming");
  }

  // False: this was the place.
  bool look_at(pid_t process, int status) {
    Process& state = traced_[process];
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    if (signal == (SIGTRAP | 0x80)) {
      if (at_call(process, state)) return false;
      resume(process, 0);
    } else if (event == PTRACE_EVENT_EXEC && process != program_) {
      if (!options_.follows_tools()) return !let_go(process);
      state.is_tool = state.loading = true;
      resume(process, 0);
    } else if (event != 0) {
      if (event == PTRACE_EVENT_EXEC)
        loaded_ = true;
      else if (state.is_tool)
        adopt_child_of(process);
      resume(process, 0);
    } else {
      const bool begins = !state.begun && signal == SIGSTOP;
      state.begun = true;
      resume(process, begins ? 0 : signal);
    }
    return true;
  }

  // What a tool starts is one, too.
  void adopt_child_of(pid_t process) {
    unsigned long child = 0;
    if (::ptrace(PTRACE_GETEVENTMSG, process, nullptr, &child) != 0) fail("PTRACE_GETEVENTMSG");
    traced_[static_cast<pid_t>(child)].is_tool = true;
  }

  // Whether the program was killed here.
  bool at_call(pid_t process, Process& state) {
    const StoppedCall call(process);
    state.in_call = !state.in_call;
    if (!running_) {
      // The first stop after the program was loaded is the exit of execve itself.
      running_ = loaded_;
      state.in_call = false;
      return false;
    }
    if (options_.follows_tools()) return at_call_of_tools(process, state, call);
    if (process != program_ && call.number() == SYS_execve && state.in_call) {
      tool_ = call.first_path();
      return reached(process, &call, tool_ + " about to be started");
    }
    if (process == program_ && call.number() == SYS_wait4 && !state.in_call && call.result() > 0)
      return reached(process, nullptr, tool_ + " ended");
    if (!call.changes_something() || !options_.counts(state.in_call)) return false;
    return reached(process, state.in_call ? &call : nullptr,
                   call.name() + (state.in_call ? " (entry) " : " (exit) ") + call.object());
  }

  bool at_call_of_tools(pid_t process, Process& state, const StoppedCall& call) {
    if (!state.is_tool || fired_ || std::exchange(state.loading, false)) return false;
    if (!call.changes_something() || !options_.counts(state.in_call)) return false;
    ++points_;
    const std::string where = place(name_of(process), call, state.in_call);
    if (points_ != options_.kill_at) {
      if (options_.list) std::fprintf(report_, "%ld: %s\n", points_, where.c_str());
      return false;
    }
    if (state.in_call) call.cancel();
    for (const auto& [traced, its] : traced_)
      if (its.is_tool) ::kill(traced, SIGKILL);
    std::fprintf(report_, "killed at %ld: %s\n", points_, where.c_str());
    fired_ = true;
    if (options_.victim != "both") return false;
    ::kill(program_, SIGKILL);
    return true;
  }

  static std::string place(const std::string& tool, const StoppedCall& call, bool entry) {
    return tool + ": " + call.name() + (entry ? " (entry) " : " (exit) ") + call.object();
  }

  // As the kernel knows it (man proc, comm).
  static std::string name_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
  }

  // A tool has been started. Whether the program was killed here; the tool lives on.
  bool let_go(pid_t process) {
    const bool killed = reached(program_, nullptr, tool_ + " started, goes on alone");
    traced_.erase(process);
    if (::ptrace(PTRACE_DETACH, process, nullptr, 0) != 0 && errno != ESRCH) fail("letting go");
    return killed;
  }

  // `entered`: the call that `process` is about to make.
  bool reached(pid_t process, const StoppedCall* entered, const std::string& where) {
    ++points_;
    if (points_ != options_.kill_at) {
      if (options_.list) std::fprintf(report_, "%ld: %s\n", points_, where.c_str());
      return false;
    }
    if (entered != nullptr) entered->cancel();
    ::kill(process, SIGKILL);
    ::kill(program_, SIGKILL);
    std::fprintf(report_, "killed at %ld: %s\n", points_, where.c_str());
    return true;
  }

  // Waits until the program is really dead: its locks are free then.
  int killed() const {
    int status = 0;
    while (::waitpid(program_, &status, __WALL) == program_ && WIFSTOPPED(status)) {
    }
    return 137;
  }

  int ended(int status) const {
    if (!fired_) std::fprintf(report_, "ran to the end after %ld points\n", points_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  const Options& options_;
  std::FILE* report_ = stderr;
  pid_t program_ = 0;
  bool loaded_ = false;   // the tracer's fork has become the program
  bool running_ = false;  // which runs now
  std::map<pid_t, Process> traced_;
  std::string tool_;
  long points_ = 0;
  bool fired_ = false;  // a tool was killed, and the program goes on
};

Options parse(int count, char** words) {
  Options options;
  int at = 1;
  const auto value = [&](const char* option) {
    if (at + 1 >= count) throw Usage(std::string(option) + " needs a value");
    return words[++at];
  };
  for (; at < count && std::strcmp(words[at], "--") != 0; ++at) {
    const std::string_view word = words[at];
    if (word == "--list") {
      options.list = true;
    } else if (word == "--phase") {
      options.phase = value("--phase");
      if (options.phase != "entry" && options.phase != "exit" && options.phase != "both")
        throw Usage("a phase is entry, exit or both");
    } else if (word == "--victim") {
      options.victim = value("--victim");
      if (options.victim != "program" && options.victim != "tool" && options.victim != "both")
        throw Usage("a victim is program, tool or both");
    } else if (word == "--report") {
      options.report = value("--report");
    } else if (word == "--kill-at") {
      char* end = nullptr;
      const char* number = value("--kill-at");
      options.kill_at = std::strtol(number, &end, 10);
      if (*number == '\0' || *end != '\0' || options.kill_at < 0)
        throw Usage(std::string(number) + " is not a number of points");
    } else {
      throw Usage(
          "accepted are --kill-at, --victim, --phase, --list and --report, then -- and the "
          "program");
    }
  }
  for (++at; at < count; ++at) options.command.push_back(words[at]);
  if (options.command.empty() || options.command[0][0] != '/')
    throw Usage("the program is an absolute path, after --");
  options.command.push_back(nullptr);
  return options;
}

}  // namespace

int main(int count, char** words) {
  try {
    const Options options = parse(count, words);
    return Tracer(options).run();
  } catch (const Usage& wrong) {
    std::fprintf(stderr, "tracer: %s\n", wrong.what());
    return 2;
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "tracer: %s\n", failed.what());
    return 125;
  }
}
