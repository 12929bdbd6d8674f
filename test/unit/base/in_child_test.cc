#include "flexvolume/base/in_child.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "flexvolume/base/lock.h"

namespace flexlocal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

TEST_CASE("work in a child returns what it returned, and changes nothing here") {
  int changed = 0;
  const auto answer = in_child(
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
      [] {
        ::_exit(3);
        return std::string();
      },
      seconds(20));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code() == ErrorCode::kFailed);
}

TEST_CASE("a child has no descriptor of its parent's, so that it holds none of its locks") {
  char path[] = "/tmp/flexlocal-unit-XXXXXX";
  REQUIRE(::mkdtemp(path) != nullptr);
  const auto lock = FileLock::acquire(std::string(path) + "/lock", seconds(20));
  REQUIRE(lock.ok());
  const auto answer = in_child(
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
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace flexlocal
