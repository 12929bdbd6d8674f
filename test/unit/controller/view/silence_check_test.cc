#include "provisioner/controller/view/silence_check.h"

#include "provisioner/controller/publish/node_label.h"
#include "test/unit/controller/cluster_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

const std::string kLeases = "GET /apis/coordination.k8s.io/v1/namespaces/beats/leases?";
const std::string kAll = kLeases + "limit=500";
const std::string kOne = kLeases + "fieldSelector=metadata.name%3Dnode-" + kNode + "&limit=500";

// A node whose daemon beat once.
struct Fixture : ClusterLab {
  SilenceCheck check{api, node_cache, log, seconds(1)};

  Fixture() {
    put(nodes, node_text());
    put(beats, lease_text(1));
  }
  // What the API server has, whatever the watch brought.
  void leases(const std::string& call, const std::string& items) {
    answers[call] = {
        {200, concat(R"({"metadata":{"resourceVersion":"9"},"items":[)", items, "]}")}};
  }
  void pass(seconds time) { manual.advance(time); }
  Status look() { return wait_for(check.look()); }
  NodeHealth health() const { return node_cache.health(kNode); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "nobody is asked for while all beat") {
  pass(kHeartbeatDuration);
  CHECK(look().ok());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "a node is silent once the API server has not seen it beat either") {
  pass(kHeartbeatDuration + seconds(1));
  CHECK(health().daemon_runs());
  leases(kOne, lease_text(1));
  CHECK(look().ok());
  CHECK(health().is_silent());
  CHECK_FALSE(health().daemon_runs());
  CHECK(ready_label(health(), nullptr, "true") == "false");
  SUBCASE("which is asked once") {
    pass(seconds(100));
    CHECK(look().ok());
    CHECK(journal == std::vector<std::string>{kOne});
  }
  SUBCASE("until it beats again") {
    put(beats, lease_text(2));
    CHECK(health().daemon_runs());
    pass(kHeartbeatDuration + seconds(1));
    CHECK(health().daemon_runs());
    CHECK(look().ok());
    CHECK(journal == std::vector<std::string>{kOne, kOne});
  }
}

TEST_CASE_FIXTURE(Fixture, "a watch that brings nothing makes nobody silent") {
  pass(kHeartbeatDuration + seconds(1));
  leases(kOne, lease_text(2));
  CHECK(look().ok());
  CHECK(health().silent_for == seconds(0));
  CHECK(health().daemon_runs());
  CHECK(ready_label(health(), nullptr, "true") == "true");
  const std::string said = join(log.lines, "\n");
  CHECK(said.find("seemed silent are not") != std::string::npos);
  CHECK(said.find("nodes=1 silent=0") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "an API server that cannot say makes nobody silent") {
  pass(kHeartbeatDuration + seconds(1));
  broken[kOne] = ErrorCode::kUnavailable;
  CHECK_FALSE(look().ok());
  CHECK(health().daemon_runs());
  broken.clear();
  leases(kOne, lease_text(1));
  CHECK(look().ok());
  CHECK_FALSE(health().daemon_runs());
}

TEST_CASE_FIXTURE(Fixture, "a node without a Lease is silent when the API server has none") {
  node_cache.saw_no_lease(kNode);
  pass(kHeartbeatDuration + seconds(1));
  leases(kOne, "");
  CHECK(look().ok());
  CHECK(health().is_silent());
}

TEST_CASE_FIXTURE(Fixture, "several that seem silent are asked for by one list") {
  put(nodes, with(node_text(), kNode, "node-b"));
  pass(kHeartbeatDuration + seconds(1));
  leases(kAll, lease_text(2));
  CHECK(look().ok());
  CHECK(journal == std::vector<std::string>{kAll});
  CHECK(health().daemon_runs());
  CHECK(node_cache.health("node-b").is_silent());
}

}  // namespace flexlocal::provisioner::test
