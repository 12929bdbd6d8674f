#include "provisioner/controller/ranking/take_line.h"

#include <doctest/doctest.h>

#include <vector>

#include "test/unit/kube/lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using Wait = std::optional<nanoseconds>;

constexpr Wait kNow{nanoseconds(0)};

struct Fixture {
  kube::test::ManualClock clock;
  std::vector<std::pair<std::string, nanoseconds>> admitted;
  TakeLine line{clock, [this](const std::string& claim, nanoseconds after) {
                  admitted.emplace_back(claim, after);
                }};

  Clock::Instant at(int second) const { return start_ + seconds(second); }

 private:
  Clock::Instant start_ = clock.now();
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a claim that comes alone is taken at once, and the next one, too") {
  for (const std::string claim : {"a", "b"}) {
    CHECK(line.enter(claim, at(0)) == kNow);
    line.begin();
    line.end(claim, 0, 1);
    clock.advance(seconds(1));
  }
  CHECK(admitted.empty());
}

TEST_CASE_FIXTURE(Fixture, "whose turn came first goes first, and each lets the next one") {
  CHECK(line.enter("b", at(2)) == kNow);
  CHECK(line.enter("a", at(1)) == kNow);
  CHECK(line.enter("c", at(3)) == Wait());
  CHECK(line.enter("b", at(2)) == Wait());
  line.begin();
  CHECK(line.enter("d", at(0)) == Wait());  // not while one is being taken
  CHECK(admitted.empty());
  line.end("a", 3, 1);
  REQUIRE(admitted.size() == 1);
  CHECK(admitted.back().first == "d");
  line.leave("d");
  CHECK(admitted.back().first == "b");
  line.leave("c");  // it was not the next
  CHECK(admitted.size() == 2);
  line.leave("b");
  CHECK(admitted.size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "one that leaves while it is taken lets nobody before the end") {
  line.enter("a", at(0));
  line.enter("b", at(1));
  line.begin();
  line.leave("a");
  CHECK(admitted.empty());
  line.end("a", 2, 1);
  REQUIRE(admitted.size() == 1);
  CHECK(admitted.back().first == "b");
}

TEST_CASE_FIXTURE(Fixture, "a node takes as many at a time as are its own of all that wait") {
  for (int i = 0; i < 5; ++i) line.enter(std::to_string(i), at(i));
  line.begin();
  line.end("0", 1000, 1);
  // A fifth of what all would take, for each of its five.
  CHECK(admitted.back() == std::pair<std::string, nanoseconds>("1", time_to_take(1000, 1) / 5));
  CHECK(line.enter("1", at(1)) == Wait(time_to_take(1000, 1) / 5));
  clock.advance(time_to_take(1000, 1) / 5);
  CHECK(line.enter("1", at(1)) == kNow);
  line.begin();
  line.end("1", 2, 1);  // fewer than its own: the others were not counted yet
  CHECK(admitted.back() == std::pair<std::string, nanoseconds>("2", time_to_take(1, 1)));
}

TEST_CASE_FIXTURE(Fixture, "with many nodes to be told, all take fewer") {
  CHECK(time_to_take(3, 200) == time_to_take(3, 1));
  CHECK(time_to_take(3, 1000) == 5 * time_to_take(3, 1));
  line.enter("a", at(0));
  line.enter("b", at(0));
  line.begin();
  line.end("a", 10, 1000);
  CHECK(admitted.back().second == time_to_take(10, 1000) / 2);
}

TEST_CASE_FIXTURE(Fixture, "claims that wait for good do not keep others for long") {
  line.enter("a", at(0));
  line.enter("b", at(0));
  line.begin();
  line.end("a", 100'000, 1);
  CHECK(admitted.back().second == most_between(1));
}

TEST_CASE("the most that a node waits is longer with many nodes") {
  CHECK(most_between(1) == seconds(10));
  CHECK(most_between(400) == seconds(20));
  CHECK(most_between(5000) == seconds(30));
}

TEST_CASE_FIXTURE(Fixture, "when taking one takes long, all take fewer") {
  line.enter("a", at(0));
  line.enter("b", at(0));
  line.begin();
  clock.advance(milliseconds(400));
  line.end("a", 20, 1);
  CHECK(admitted.back().second == nanoseconds(milliseconds(400)) / TakeLine::kAtOnce * 20 / 2);
  clock.advance(admitted.back().second);
  CHECK(line.enter("b", at(0)) == kNow);
  line.enter("c", at(0));
  line.begin();
  line.end("b", 20, 1);  // fast again
  CHECK(admitted.back().second == time_to_take(20, 1) / 2);
}

TEST_CASE_FIXTURE(Fixture, "to leave twice, or without having come, is no error") {
  line.leave("a");
  line.enter("a", at(0));
  line.leave("a");
  line.leave("a");
  CHECK(admitted.empty());
  CHECK(line.enter("b", at(0)) == kNow);
}

}  // namespace flexlocal::provisioner::test
