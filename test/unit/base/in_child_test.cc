#include "flexvolume/base/in_child.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "flexvolume/base/child.h"
#include "flexvolume/base/lock.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

TEST_CASE("work in a child returns what it returned, and changes nothing here") {
  int changed = 0;
  const auto answer = in_child(
      "a disk",
      [&] {
        changed = 1;
        return std::string(100'000, 'x');
      },
      seconds(20));
  REQUIRE(answer.ok());
  CHECK(*answer == std::string(100'000, 'x'));
  CHECK(changed == 0);
  CHECK_FALSE(has_children());
}

TEST_CASE("work that does not end is given up, and its child is killed") {
  const auto start = std::chrono::steady_clock::now();
  const auto answer = in_child(
      "a disk",
      [] {
        for (;;) ::pause();
        return std::string();
      },
      milliseconds(100));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code() == ErrorCode::kDeadline);
  CHECK(std::chrono::steady_clock::now() - start < seconds(20));
  CHECK_FALSE(has_children());
}

TEST_CASE("a child that crashes has returned nothing") {
  const auto answer = in_child(
      "a disk",
      [] {
        ::_exit(3);
        return std::string();
      },
      seconds(20));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code() == ErrorCode::kFailed);
}

TEST_CASE("a child has no descriptor of its parent's, so that it holds none of its locks") {
  const TemporaryFolder folder;
  const auto lock = FileLock::acquire(folder.path("lock"), seconds(20));
  REQUIRE(lock.ok());
  const auto answer = in_child(
      "a disk",
      [] {
        std::string open;
        for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd"))
          open += fd.path().filename().string() + ' ';
        return open;
      },
      seconds(20));
  REQUIRE(answer.ok());
  // The pipe, and the folder that is read here.
  CHECK((*answer == "0 1 " || *answer == "1 0 "));
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

TEST_CASE(
    "what cannot be killed is left behind, has no second beside it, and is reaped at its end") {
  const TemporaryFolder folder;
  const std::string go_on = folder.path("go-on");
  const auto work = [&]() -> std::string { wait_traced(go_on); };
  const auto begin = std::chrono::steady_clock::now();
  // A slow machine may not have traced it by then.
  while (!has_children() && std::chrono::steady_clock::now() - begin < seconds(60))
    CHECK_FALSE(in_child("a disk", work, milliseconds(500)).ok());
  const auto second = in_child(
      "a disk", [] { return std::string("worked"); }, seconds(20));
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().code() == ErrorCode::kDeadline);
  CHECK(in_child(
            "another disk", [] { return std::string("worked"); }, seconds(20))
            .ok());
  std::ofstream(go_on) << "now";
  while (has_children() && std::chrono::steady_clock::now() - begin < seconds(60))
    reap_left_behind();
  CHECK_FALSE(has_children());
  CHECK(in_child(
            "a disk", [] { return std::string("worked"); }, seconds(20))
            .ok());
}

}  // namespace
}  // namespace flexlocal
