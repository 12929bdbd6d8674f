#include "flexvolume/base/in_child.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "flexvolume/base/child.h"
#include "flexvolume/base/lock.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Also one that has ended and is not reaped.
bool has_children() {
  siginfo_t which{};
  return ::waitid(P_ALL, 0, &which, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

constexpr ChildDeadlines kLong{seconds(20), seconds(20)};

struct Fixture {
  TemporaryFolder folder;
  Result<FileLock> lock = FileLock::acquire(folder.path("lock"), seconds(20));
};

TEST_CASE_FIXTURE(Fixture, "work in a child says what it said, and changes nothing here") {
  int changed = 0;
  const ChildOutput output = in_child(
      *lock,
      [&](const Write& write) {
        changed = 1;
        write(std::string(100'000, 'x'));
      },
      kLong);
  CHECK(output.ended.ok());
  CHECK(output.text == std::string(100'000, 'x'));
  CHECK(changed == 0);
  CHECK_FALSE(has_children());
}

TEST_CASE_FIXTURE(Fixture, "work that does not end is given up, and what it had said is not lost") {
  const auto start = std::chrono::steady_clock::now();
  const ChildOutput output = in_child(*lock,
                                      [](const Write& write) {
                                        write("one");
                                        for (;;) ::pause();
                                      },
                                      {seconds(1), seconds(60)});
  REQUIRE_FALSE(output.ended.ok());
  CHECK(output.ended.error().code() == ErrorCode::kDeadline);
  CHECK(output.text == "one");
  CHECK(std::chrono::steady_clock::now() - start < seconds(20));
  CHECK_FALSE(has_children());
}

TEST_CASE_FIXTURE(Fixture, "work has more time as long as it says something, and not for ever") {
  const auto talk = [](const Write& write, int times) {
    for (int i = 0; times == 0 || i < times; ++i) {
      write(".");
      ::poll(nullptr, 0, 50);
    }
  };
  const ChildOutput long_one =
      in_child(*lock, [&](const Write& write) { talk(write, 80); }, {seconds(3), seconds(120)});
  CHECK(long_one.ended.ok());
  CHECK(long_one.text.size() == 80);
  const ChildOutput endless =
      in_child(*lock, [&](const Write& write) { talk(write, 0); }, {seconds(60), seconds(1)});
  REQUIRE_FALSE(endless.ended.ok());
  CHECK(endless.ended.error().code() == ErrorCode::kDeadline);
  CHECK_FALSE(has_children());
}

TEST_CASE_FIXTURE(Fixture, "a child that crashes says so") {
  const ChildOutput output = in_child(
      *lock, [](const Write&) { ::_exit(3); }, kLong);
  REQUIRE_FALSE(output.ended.ok());
  CHECK(output.ended.error().code() == ErrorCode::kFailed);
}

TEST_CASE_FIXTURE(Fixture, "a child has none of its parent's locks but the one that it is given") {
  const auto other = FileLock::acquire(folder.path("other"), seconds(20));
  REQUIRE(other.ok());
  const ChildOutput output = in_child(
      *lock,
      [](const Write& write) {
        std::set<std::string> open;
        for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd"))
          open.insert(std::filesystem::read_symlink(fd.path()).filename().string());
        for (const std::string& name : open) write(name + ' ');
      },
      kLong);
  REQUIRE(output.ended.ok());
  CHECK(output.text.find("lock ") != std::string::npos);
  CHECK(output.text.find("other") == std::string::npos);
  // Besides, the pipe, and the folder that is read here.
  CHECK(std::count(output.text.begin(), output.text.end(), ' ') == 3);
}

// A killed process is there until its tracer has looked (man ptrace), as one is there that waits
// for a disk: here its own child traces it, until `go_on` is there.
[[noreturn]] void wait_traced(const std::string& go_on) {
  const pid_t traced = ::getpid();
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // where only parents may trace
  if (::fork() == 0) {
    ::setpgid(0, 0);
    ::close(STDIN_FILENO);
    if (::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0)
      while (!std::filesystem::exists(go_on)) ::poll(nullptr, 0, 1);
    ::_exit(0);
  }
  for (;;) ::pause();
}

TEST_CASE_FIXTURE(
    Fixture,
    "who works on for a child that was killed keeps its lock, and the child is reaped at its end") {
  const std::string go_on = folder.path("go-on");
  const auto work = [&](const Write&) { wait_traced(go_on); };
  const auto begin = std::chrono::steady_clock::now();
  // A slow machine may not have traced it by then.
  while (!has_children() && std::chrono::steady_clock::now() - begin < seconds(60))
    CHECK_FALSE(in_child(*lock, work, {milliseconds(500), milliseconds(500)}).ended.ok());
  lock = Error(ErrorCode::kFailed, "let go of here");
  CHECK_FALSE(FileLock::acquire(folder.path("lock"), milliseconds(10)).ok());
  std::ofstream(go_on) << "now";
  lock = FileLock::acquire(folder.path("lock"), seconds(60));
  CHECK(lock.ok());
  while (has_children() && std::chrono::steady_clock::now() - begin < seconds(60))
    reap_left_behind();
  CHECK_FALSE(has_children());
}

}  // namespace
}  // namespace flexlocal
