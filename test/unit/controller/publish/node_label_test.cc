#include "provisioner/controller/publish/node_label.h"

#include "test/unit/controller/cluster_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

const std::string kPatch = "PATCH " + kNodePath;

struct Fixture : ClusterLab {
  NodeLabeler labeler{api, node_cache, log, true};

  static std::string labelled(const std::string& label) {
    return with(node_text(), R"("metadata":{)",
                concat(R"("metadata":{"uid":"uid-of-node","labels":{"flexlocal.io/ready":")", label,
                       R"("},)"));
  }
  // As after the API server was asked.
  std::optional<std::string> wanted() {
    node_cache.confirm_silence(kNode);
    return ready_label(node_cache.health(kNode), node_cache.beat_of(kNode),
                       nodes.get(kNode)->ready_label);
  }
  Status work() { return wait_for(labeler.work(kNode)); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a daemon that runs well makes its node ready, and is told once") {
  put(nodes, with(node_text(), R"("metadata":{)", R"("metadata":{"uid":"uid-of-node",)"));
  put(beats, lease_text(1));
  answers[kPatch] = {{200, labelled("true")}};
  CHECK(work().ok());
  REQUIRE(http.seen.size() == 1);
  CHECK(http.seen[0].body ==
        R"({"metadata":{"uid":"uid-of-node","labels":{"flexlocal.io/ready":"true"}}})");
  CHECK(http.seen[0].content_type == "application/merge-patch+json");
  CHECK(work().ok());
  CHECK(journal.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "trouble, or silence, is not ready, and ends with a sign of life") {
  put(nodes, labelled("true"));
  put(beats,
      with(lease_text(1), R"("flexlocal.io/ready":"true")", R"("flexlocal.io/ready":"false")"));
  CHECK(wanted() == "false");
  put(beats, lease_text(2));
  CHECK(wanted() == "true");
  manual.advance(kHeartbeatDuration);
  CHECK(wanted() == "true");
  manual.advance(seconds(1));
  CHECK(wanted() == "false");
  put(beats, lease_text(3));
  CHECK(wanted() == "true");
}

TEST_CASE_FIXTURE(Fixture, "a node without a Lease is not ready, once that has had time to come") {
  put(nodes, labelled("true"));
  CHECK(wanted() == "true");
  CHECK_FALSE(labeler.needs_work(*nodes.get(kNode)));
  manual.advance(kHeartbeatDuration + seconds(1));
  CHECK(wanted() == "false");
  CHECK(work().ok());
  REQUIRE(http.seen.size() == 1);
  CHECK(http.seen[0].body ==
        R"({"metadata":{"uid":"uid-of-node","labels":{"flexlocal.io/ready":"false"}}})");
}

TEST_CASE_FIXTURE(Fixture, "a node that never had a daemon, or nobody is to label, is left alone") {
  put(nodes, node_text());
  manual.advance(seconds(100));
  CHECK(work().ok());
  NodeLabeler disabled{api, node_cache, log, false};
  put(beats, lease_text(1));
  CHECK(wait_for(disabled.work(kNode)).ok());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "a node that has gone needs no label; another refusal is an error") {
  put(nodes, node_text());
  put(beats, lease_text(1));
  answers[kPatch] = {missing(), {403, R"({"kind":"Status","reason":"Forbidden"})"}};
  CHECK(work().ok());
  const Status denied = work();
  REQUIRE_FALSE(denied.ok());
  CHECK(denied.error().code() == ErrorCode::kDenied);
}

}  // namespace flexlocal::provisioner::test
