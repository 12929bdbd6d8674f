// Times programs from start to end, or names the programs that they start in turn.
//
//   stopwatch [-n TIMES] [-w TIMES] SIDE [--against SIDE]...
//   stopwatch -p SIDE
//   stopwatch -a SECONDS PROCESS
//
// A SIDE is COMMAND [--then COMMAND]...: absolute path and arguments, run one after another; with
// --exits STATUS in front of the path when it is to end with another status than 0. Prints
// a line for each repetition with the nanoseconds of each side; -w repetitions come first and are
// not printed. Sides take turns at going first. -p prints the name of each program in the order of
// its start, what programs start themselves included. The programs read from /dev/null and write
// into memory; it is shown when one of them fails, and then the exit status is 1 (2: wrong usage).
// -a prints the same of a process that runs already, for so long; it is 1 when that one ended
// before.

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
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
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

struct Command {
  std::vector<char*> argv;  // ends in nullptr, as exec wants it
  int status = 0;           // what it must exit with
};
using Side = std::vector<Command>;

struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What posix_spawn and ptrace return or leave in errno.
void check(int number, const std::string& doing) {
  if (number != 0) throw std::system_error(number, std::generic_category(), doing);
}

// Where the programs' output goes: a file in memory, so that no reader takes part in the race.
class Output {
 public:
  Output() : fd_(::memfd_create("output", MFD_CLOEXEC)) {
    check(fd_ < 0 ? errno : 0, "memfd_create");
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() { ::close(fd_); }

  int fd() const { return fd_; }

  std::string text() const {
    std::string text(4096, '\0');
    const ssize_t got = ::pread(fd_, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

 private:
  int fd_;
};

class SpawnActions {
 public:
  explicit SpawnActions(const Output& output) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output.fd(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output.fd(), STDERR_FILENO);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

void expect_success(int status, const Command& command, const Output& output) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == command.status) return;
  throw std::runtime_error(std::string(command.argv[0]) + " failed (wait status " +
                           std::to_string(status) + "): " + output.text());
}

long long now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Nanoseconds from before the first program's start until the last one is reaped.
long long time_side(const Side& side) {
  const Output output;
  const SpawnActions actions(output);
  const long long start = now_ns();
  for (const Command& command : side) {
    pid_t child = 0;
    char* const* argv = command.argv.data();
    check(::posix_spawn(&child, argv[0], actions.get(), nullptr, argv, environ), argv[0]);
    int status = 0;
    rusage usage{};
    if (::wait4(child, &status, 0, &usage) != child) check(errno, "wait4");
    expect_success(status, command, output);
  }
  return now_ns() - start;
}

void race(const std::vector<Side>& sides, long times, long warm_up) {
  std::vector<long long> took(sides.size());
  for (long i = 0; i < warm_up + times; ++i) {
    for (std::size_t turn = 0; turn < sides.size(); ++turn) {
      const std::size_t at = i % 2 == 0 ? turn : sides.size() - 1 - turn;
      took[at] = time_side(sides[at]);
    }
    if (i < warm_up) continue;
    for (std::size_t at = 0; at < took.size(); ++at)
      std::printf("%s%lld", at == 0 ? "" : " ", took[at]);
    std::printf("\n");
  }
}

std::string program_name(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline");
  std::string path;
  std::getline(file, path, '\0');
  return path.substr(path.rfind('/') + 1);
}

[[noreturn]] void become(const Command& command, const Output& output) {
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(output.fd(), STDOUT_FILENO);
  ::dup2(output.fd(), STDERR_FILENO);
  ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  ::raise(SIGSTOP);
  ::execv(command.argv[0], command.argv.data());
  ::_exit(127);
}

constexpr long kEvents =
    PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;

// Follows the traced processes and their descendants until the last has ended or a signal comes,
// and prints each exec. Returns the wait status of `first`, 0 while it runs.
int follow(pid_t first, std::set<pid_t> known) {
  int status = 0;
  int result = 0;
  pid_t process;
  while ((process = ::waitpid(-1, &status, __WALL)) > 0) {
    if (!WIFSTOPPED(status)) {
      if (process == first) result = status;
      continue;
    }
    const int event = status >> 16;
    if (event == PTRACE_EVENT_EXEC) std::printf("%s\n", program_name(process).c_str());
    // A traced process begins with a SIGSTOP of ptrace's own; every other signal is handed on.
    const bool begins = known.insert(process).second && WSTOPSIG(status) == SIGSTOP;
    const long signal = event != 0 || begins ? 0 : WSTOPSIG(status);
    ::ptrace(PTRACE_CONT, process, nullptr, signal);
  }
  return result;
}

// Returns the wait status of the child, which has become its program.
int follow_child(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, __WALL) != child) check(errno, "waitpid");
  if (::ptrace(PTRACE_SETOPTIONS, child, nullptr, kEvents | PTRACE_O_EXITKILL) != 0)
    check(errno, "ptrace");
  ::ptrace(PTRACE_CONT, child, nullptr, nullptr);
  return follow(child, {child});
}

void name_programs(const Side& side) {
  for (const Command& command : side) {
    const Output output;
    const pid_t child = ::fork();
    check(child < 0 ? errno : 0, "fork");
    if (child == 0) become(command, output);
    expect_success(follow_child(child), command, output);
  }
}

// Traces all threads, and looks again, since one may have started another meanwhile.
std::set<pid_t> seize(pid_t process) {
  std::set<pid_t> known;
  for (std::size_t before = 1; before != known.size();) {
    before = known.size();
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
      const pid_t thread = std::stoi(entry.path().filename());
      if (known.count(thread) != 0) continue;
      // EPERM: traced already, as what a traced thread starts is.
      if (::ptrace(PTRACE_SEIZE, thread, nullptr, kEvents) != 0 &&
          (errno != EPERM || known.empty()))
        check(errno, "PTRACE_SEIZE");
      known.insert(thread);
    }
  }
  return known;
}

// The process goes on untraced when this one ends.
void watch(pid_t process, long seconds) {
  struct sigaction alarm {};
  alarm.sa_handler = [](int) {};
  check(::sigaction(SIGALRM, &alarm, nullptr) != 0 ? errno : 0, "sigaction");
  const std::set<pid_t> threads = seize(process);
  // Again and again, for the first may come while nothing waits.
  const itimerval timer{{0, 100'000}, {seconds, 0}};
  check(::setitimer(ITIMER_REAL, &timer, nullptr) != 0 ? errno : 0, "setitimer");
  follow(process, threads);
  check(errno != EINTR ? errno : 0, "the process has ended");
}

long parse_count(const char* text) {
  char* end = nullptr;
  const long count = std::strtol(text, &end, 10);
  if (*end != '\0' || count < 0) throw Usage(std::string(text) + " is not a count");
  return count;
}

std::vector<Side> parse_sides(char** first, char** last) {
  std::vector<Side> sides(1, Side(1));
  for (char** word = first; word != last; ++word) {
    Command& command = sides.back().back();
    if (std::strcmp(*word, "--against") == 0)
      sides.emplace_back(1);
    else if (std::strcmp(*word, "--then") == 0)
      sides.back().emplace_back();
    else if (command.argv.empty() && std::strcmp(*word, "--exits") == 0 && word + 1 != last)
      command.status = static_cast<int>(parse_count(*++word));
    else
      command.argv.push_back(*word);
  }
  for (Side& side : sides)
    for (Command& command : side) {
      if (command.argv.empty() || command.argv[0][0] != '/')
        throw Usage("a command is its absolute path and its arguments");
      command.argv.push_back(nullptr);
    }
  return sides;
}

void run(int count, char** values) {
  long times = 1;
  long warm_up = 0;
  long seconds = 0;
  bool programs = false;
  int option;
  ::opterr = 0;
  while ((option = ::getopt(count, values, "+n:w:pa:")) != -1) {
    if (option == 'n') times = parse_count(optarg);
    if (option == 'w') warm_up = parse_count(optarg);
    if (option == 'p') programs = true;
    if (option == 'a') seconds = parse_count(optarg);
    if (option == '?') throw Usage("accepted are -n TIMES, -w TIMES, -p and -a SECONDS");
  }
  if (seconds > 0) {
    if (optind + 1 != count) throw Usage("-a SECONDS takes the number of one process");
    return watch(static_cast<pid_t>(parse_count(values[optind])), seconds);
  }
  const auto sides = parse_sides(values + optind, values + count);
  if (!programs) return race(sides, times, warm_up);
  if (sides.size() != 1) throw Usage("-p takes one side");
  name_programs(sides.front());
}

}  // namespace

int main(int count, char** values) {
  try {
    run(count, values);
  } catch (const Usage& wrong) {
    std::fprintf(stderr, "stopwatch: %s\n", wrong.what());
    return 2;
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "stopwatch: %s\n", failed.what());
    return 1;
  }
  return 0;
}
