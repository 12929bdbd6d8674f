#include "provisioner/controller/capacity/node_health.h"

#include <doctest/doctest.h>

#include "provisioner/controller/claims/selected_node_plan.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

const Clock::Instant kStart{std::chrono::hours(1)};
constexpr seconds kLost{120};

NodeHeartbeat beat(int renewal) {
  NodeHeartbeat beat;
  beat.node = kNode;
  beat.renewed = Clock::Wall(seconds(renewal));
  return beat;
}

struct Fixture {
  NodeObservations observations;
  Clock::Instant now = kStart;

  void node(std::optional<bool> ready) { observations.saw_node(kNode, ready, now); }
  void lease(int renewal) {
    const NodeHeartbeat one = beat(renewal);
    observations.saw_lease(kNode, &one, now);
  }
  // As after the API server was asked.
  std::string why() {
    observations.confirm_silence(kNode, now);
    return objection_to_node(kNode, observations.health(kNode, now), kLost).value_or("");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a ready node whose daemon gives signs of life is waited for") {
  node(true);
  for (int i = 0; i < 100; ++i) {
    lease(i);
    now += seconds(10);
    CHECK(why().empty());
  }
}

TEST_CASE_FIXTURE(Fixture, "a node that is not there is not waited for") {
  CHECK(why() == "node node-a is gone");
  node(true);
  CHECK(why().empty());
  node(std::nullopt);
  CHECK(why() == "node node-a is gone");
}

TEST_CASE_FIXTURE(Fixture, "a node may be unready for a while, counted from when it was seen so") {
  node(true);
  lease(1);
  now += seconds(1000);
  lease(2);
  node(false);
  now += kLost - seconds(1);
  lease(3);
  node(false);
  CHECK(why().empty());
  now += seconds(1);
  CHECK(why() == "node node-a has not been Ready for 120 s");
  node(true);
  CHECK(why().empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a daemon is taken for dead when its Lease did not change, whatever it says") {
  node(true);
  lease(2'000'000'000);
  now += kHeartbeatDuration;
  lease(2'000'000'000);
  CHECK(why().empty());
  now += seconds(1);
  CHECK(why() == "the flexlocal daemon of node node-a has given no sign of life for 61 s");
  lease(7);  // a clock set back is a sign of life
  CHECK(why().empty());
}

TEST_CASE_FIXTURE(Fixture, "a node without a Lease gets the time for its daemon to begin") {
  now += seconds(500);
  node(true);
  now += kHeartbeatDuration;
  CHECK(why().empty());
  now += seconds(1);
  CHECK(why() == "no flexlocal daemon runs on node node-a: there is no Lease node-node-a");
  lease(1);
  CHECK(why().empty());
}

TEST_CASE_FIXTURE(Fixture, "a node that comes back gets the time for its daemon once more") {
  node(true);
  now += seconds(1000);
  node(std::nullopt);
  now += seconds(1000);
  node(true);
  CHECK(why().empty());
  now += kHeartbeatDuration + seconds(1);
  CHECK_FALSE(why().empty());
}

}  // namespace flexlocal::provisioner::test
