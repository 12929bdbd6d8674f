#include "provisioner/controller/claims/roll_call.h"

#include <doctest/doctest.h>

namespace flexlocal::provisioner::test {
namespace {

RollEntry entry_that(bool runs, bool has_beaten, bool tells, bool agrees) {
  return {
      .runs = runs, .has_beaten = has_beaten, .excused = false, .tells = tells, .agrees = agrees};
}

bool waits(const RollEntry& entry, bool put_back, std::chrono::nanoseconds waited = {}) {
  const auto why = missing_in_roll(entry, {put_back, waited});
  if (why) CHECK_FALSE(why->empty());
  return why.has_value();
}

}  // namespace

TEST_CASE(
    "a node that agrees with the API server is not waited for, and every other that runs is") {
  const RollEntry heard = entry_that(true, true, true, true);
  for (const bool put_back : {false, true}) {
    CHECK_FALSE(waits(heard, put_back));
    CHECK(waits(entry_that(true, false, true, true), put_back));
    CHECK(waits(entry_that(true, true, true, false), put_back));
    CHECK(waits(entry_that(true, true, true, false), put_back, std::chrono::hours(1)));
  }
}

TEST_CASE("a silent node is waited for only where the API server was put back") {
  const RollEntry silent = entry_that(false, false, false, false);
  CHECK_FALSE(waits(silent, false));
  CHECK(waits(silent, true));
  CHECK(waits(silent, true, std::chrono::hours(1)));
}

TEST_CASE("a daemon that has not looked at its disks yet has a minute, if nothing was put back") {
  const RollEntry starting = entry_that(true, true, false, false);
  CHECK(waits(starting, false, kRollPatience - std::chrono::nanoseconds(1)));
  CHECK_FALSE(waits(starting, false, kRollPatience));
  CHECK(waits(starting, true, kRollPatience));
}

TEST_CASE("a person's word goes before all else") {
  for (const bool runs : {false, true}) {
    RollEntry excused = entry_that(runs, runs, runs, false);
    excused.excused = true;
    CHECK_FALSE(waits(excused, true));
  }
}

}  // namespace flexlocal::provisioner::test
