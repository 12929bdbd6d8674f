#include "provisioner/kube/socket_watch.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "test/unit/kube/lab.h"

namespace flexlocal::kube::test {
namespace {

constexpr std::size_t kAtOnce = 16;

// A socket that is watched, and its other end. What is read is counted in bytes.
struct Fixture : Lab {
  std::array<int, 2> ends{-1, -1};
  std::size_t bytes = 0;
  std::unique_ptr<SocketWatch> watch;

  Fixture() {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    watch = std::make_unique<SocketWatch>(io, ends[0], [this](SocketWatch::Readiness) {
      std::array<char, 64> room{};
      const auto count = ::read(ends[0], room.data(), room.size());
      if (count > 0) bytes += static_cast<std::size_t>(count);
    });
    watch->want(true, false);
  }
  ~Fixture() {
    watch.reset();
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void report_all_at_once() {
    for (std::size_t count = 1; count <= kAtOnce; ++count) {
      write();
      REQUIRE(run_until([&] { return bytes == count; }));
    }
  }
  void write() const { REQUIRE(::write(ends[1], "x", 1) == 1); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "a socket that rests reports the first bytes at once, later ones later") {
  watch->rest(std::chrono::hours(1));
  report_all_at_once();
  write();
  settle();
  CHECK(bytes == kAtOnce);
  write();
  watch->rest(std::chrono::milliseconds(0));
  CHECK(run_until([&] { return bytes == kAtOnce + 2; }));
  write();
  CHECK(run_until([&] { return bytes == kAtOnce + 3; }));
}

TEST_CASE_FIXTURE(Fixture, "a rest ends by itself") {
  constexpr std::chrono::milliseconds between{50};
  watch->rest(between);
  const auto begun = std::chrono::steady_clock::now();
  for (std::size_t count = 1; count <= kAtOnce + 2; ++count) {
    write();
    REQUIRE(run_until([&] { return bytes == count; }));
  }
  CHECK(std::chrono::steady_clock::now() - begun >= 2 * between);
}

TEST_CASE_FIXTURE(Fixture, "a pause brings back what may be reported at once, and no more") {
  watch->rest(std::chrono::milliseconds(1));
  report_all_at_once();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  run_until([&] { return std::chrono::steady_clock::now() >= end; });
  watch->rest(std::chrono::hours(1));
  bytes = 0;
  report_all_at_once();
  write();
  settle();
  CHECK(bytes == kAtOnce);
}

TEST_CASE_FIXTURE(Fixture, "a watch may go in the middle of a rest") {
  watch->rest(std::chrono::hours(1));
  report_all_at_once();
  write();
  settle();
  watch.reset();
  settle();
  CHECK(bytes == kAtOnce);
}

}  // namespace flexlocal::kube::test
