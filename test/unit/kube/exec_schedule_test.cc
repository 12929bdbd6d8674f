#include "provisioner/kube/exec_schedule.h"

#include <doctest/doctest.h>

namespace flexlocal::kube::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

struct Fixture {
  ExecSchedule schedule{{}, 1};
  Clock::Instant now{std::chrono::hours(1)};

  void run(std::optional<std::chrono::nanoseconds> lifetime) {
    REQUIRE(schedule.is_due(now));
    schedule.began();
    schedule.succeeded(now, lifetime);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the program is due at first, and while it runs requests wait for it") {
  CHECK(schedule.is_due(now));
  CHECK_FALSE(schedule.is_usable(now));
  schedule.began();
  CHECK_FALSE(schedule.is_due(now));
  CHECK(schedule.is_worth_waiting(now));
  schedule.succeeded(now, std::nullopt);
  CHECK_FALSE(schedule.is_worth_waiting(now));
  CHECK(schedule.is_usable(now + std::chrono::hours(10'000)));
  CHECK_FALSE(schedule.is_due(now + std::chrono::hours(10'000)));
}

TEST_CASE_FIXTURE(Fixture, "a credential is renewed a minute before its end, and nobody waits") {
  run(minutes(10));
  CHECK_FALSE(schedule.is_due(now + minutes(9) - seconds(1)));
  now += minutes(9);
  CHECK(schedule.is_due(now));
  schedule.began();
  CHECK(schedule.is_usable(now));
  CHECK_FALSE(schedule.is_worth_waiting(now));
  now += minutes(1);
  CHECK_FALSE(schedule.is_usable(now));
  CHECK(schedule.is_worth_waiting(now));
}

TEST_CASE_FIXTURE(Fixture, "a short life is renewed in its last quarter") {
  run(seconds(40));
  CHECK_FALSE(schedule.is_due(now + seconds(29)));
  CHECK(schedule.is_due(now + seconds(30)));
}

TEST_CASE_FIXTURE(Fixture, "failures are tried again after growing pauses, at most two minutes") {
  seconds least(1);
  for (int i = 0; i < 20; ++i) {
    schedule.began();
    schedule.failed(now);
    CHECK_FALSE(schedule.is_due(now + least - std::chrono::milliseconds(1)));
    now += 2 * least;
    CHECK(schedule.is_due(now));
    least = std::min(2 * least, seconds(60));
  }
}

TEST_CASE_FIXTURE(Fixture, "a refused credential is replaced, waited for, and never in a loop") {
  run(std::nullopt);
  schedule.refused();
  CHECK_FALSE(schedule.is_due(now));  // it was given out this very moment
  CHECK(schedule.is_usable(now));
  now += seconds(2);
  CHECK(schedule.is_due(now));
  schedule.began();
  CHECK(schedule.is_worth_waiting(now));
  schedule.succeeded(now, std::nullopt);
  schedule.refused();
  CHECK_FALSE(schedule.is_due(now + std::chrono::milliseconds(1999)));
  now += seconds(4);
  run(std::nullopt);
  schedule.accepted();
  schedule.refused();
  now += seconds(8);
  run(std::nullopt);
  schedule.refused();
  CHECK(schedule.is_due(now + seconds(2)));  // the pauses began anew with the one that was taken
}

TEST_CASE_FIXTURE(Fixture,
                  "what the old credential achieves does not shorten a failing program's pauses") {
  run(minutes(10));
  schedule.accepted();
  now += minutes(9);
  for (int i = 0; i < 3; ++i) {
    schedule.began();
    schedule.failed(now);
    schedule.accepted();
    if (i < 2) now += seconds(10);
  }
  CHECK_FALSE(schedule.is_due(now + std::chrono::milliseconds(3999)));
}

}  // namespace flexlocal::kube::test
