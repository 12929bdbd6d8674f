// Kills a program after a time, if it still runs then.
//
//   kill-after MICROSECONDS [--with-tools] -- PROGRAM [ARGUMENT...]
//
// --with-tools: the programs that it has started and that still run are killed with it, as when a
// container's whole control group is. The time counts from the program's start.
// Exit status: 137 when it was killed here, else the program's own (128 + n for a signal n);
// 2: wrong usage, 125: it could not be started.

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

struct Options {
  long microseconds = 0;
  bool with_tools = false;
  char** command = nullptr;
};

struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Options parse(int count, char** words) {
  Options options;
  char* end = nullptr;
  if (count < 2) throw Usage("kill-after MICROSECONDS [--with-tools] -- PROGRAM [ARGUMENT...]");
  options.microseconds = std::strtol(words[1], &end, 10);
  if (*words[1] == '\0' || *end != '\0' || options.microseconds < 0)
    throw Usage(std::string(words[1]) + " is not a number of microseconds");
  int at = 2;
  if (at < count && std::strcmp(words[at], "--with-tools") == 0) {
    options.with_tools = true;
    ++at;
  }
  if (at + 1 >= count || std::strcmp(words[at], "--") != 0 || words[at + 1][0] != '/')
    throw Usage("the program is an absolute path, after --");
  options.command = words + at + 1;
  return options;
}

// The parent of a process: the fourth word of its stat, behind a name in parentheses that may
// hold anything (man proc). 0 when the process is gone.
pid_t parent_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > line.size()) return 0;
  return static_cast<pid_t>(std::strtol(line.c_str() + name_end + 4, nullptr, 10));
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    // 0 for what is no process's folder.
    const auto process =
        static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10));
    if (process > 0 && parent_of(entry.path()) == parent) children.push_back(process);
  }
  return children;
}

// True when the program ended within the time.
bool await(long microseconds, const sigset_t& child_ended) {
  const timespec time{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  // Nothing but the end of the one child wakes this; a stopped or interrupted wait ends early.
  return ::sigtimedwait(&child_ended, nullptr, &time) == SIGCHLD;
}

int run(const Options& options) {
  sigset_t child_ended;
  ::sigemptyset(&child_ended);
  ::sigaddset(&child_ended, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_ended, nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t program = 0;
  const int failed =
      ::posix_spawn(&program, options.command[0], nullptr, &attributes, options.command, environ);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), options.command[0]);
  const bool ended = await(options.microseconds, child_ended);
  if (!ended) {
    // Stopped while its tools are looked for, so that it starts no other.
    ::kill(program, SIGSTOP);
    if (options.with_tools)
      for (const pid_t tool : children_of(program)) ::kill(tool, SIGKILL);
    ::kill(program, SIGKILL);
  }
  int status = 0;
  if (::waitpid(program, &status, 0) != program)
    throw std::system_error(errno, std::generic_category(), "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(parse(count, words));
  } catch (const Usage& wrong) {
    std::fprintf(stderr, "kill-after: %s\n", wrong.what());
    return 2;
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "kill-after: %s\n", failed.what());
    return 125;
  }
}
