#include "provisioner/kube/socket_watch.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "test/unit/kube/lab.h"

namespace flexlocal::kube::test {
namespace {

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
  void write() const { REQUIRE(::write(ends[1], "x", 1) == 1); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "a socket that rests reports the first bytes at once, later ones later") {
  watch->rest(std::chrono::hours(1));
  write();
  REQUIRE(run_until([&] { return bytes == 1; }));
  write();
  settle();
  CHECK(bytes == 1);
  write();
  watch->rest(std::chrono::milliseconds(0));
  CHECK(run_until([&] { return bytes == 3; }));
  write();
  CHECK(run_until([&] { return bytes == 4; }));
}

TEST_CASE_FIXTURE(Fixture, "a rest ends by itself") {
  watch->rest(std::chrono::milliseconds(5));
  write();
  REQUIRE(run_until([&] { return bytes == 1; }));
  write();
  CHECK(run_until([&] { return bytes == 2; }));
}

TEST_CASE_FIXTURE(Fixture, "a watch may go in the middle of a rest") {
  watch->rest(std::chrono::hours(1));
  write();
  REQUIRE(run_until([&] { return bytes == 1; }));
  write();
  settle();
  watch.reset();
  settle();
  CHECK(bytes == 1);
}

}  // namespace flexlocal::kube::test
