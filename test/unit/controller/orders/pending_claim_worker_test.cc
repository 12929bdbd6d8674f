#include "provisioner/controller/orders/pending_claim_worker.h"

#include "test/unit/controller/orders/pending_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

const std::string kTakeBack = "PATCH " + kClaimPath;

struct Fixture : ClusterLab {
  PendingLab pending{*this};

  Fixture() {
    put(classes, class_text());
    put(claims, claim_text(sample_claim()));
    answers["GET " + kNodePath] = {{200, node_text()}};
  }
  Status work() { return wait_for(pending.worker.work("shop/data")); }
  void know_unchosen() {
    Claim claim = sample_claim();
    claim.selected_node.clear();
    put(claims, claim_text(claim));
  }
  void know_open(const Claim& claim) { put(claims, claim_text(claim)); }
  void know_node(int renewed, Bytes free = kGiB) {
    put(nodes, node_text());
    put(beats, lease_text(renewed, free));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "a claim that waits for a node that is gone is handed back, with an event") {
  answers["GET " + kNodePath] = {missing()};
  CHECK(work().ok());
  CHECK(journal == std::vector<std::string>{"GET " + kNodePath, kTakeBack});
  CHECK(events_written().find("node node-a is gone; another node is looked for") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a choice that can be no node is handed back without asking for it") {
  Claim claim = sample_claim();
  claim.selected_node = "../../pods?" + std::string(5000, 'x');
  put(claims, claim_text(claim));
  CHECK(work().ok());
  CHECK(journal == std::vector<std::string>{kTakeBack});
}

TEST_CASE_FIXTURE(Fixture, "a node that only the list does not know yet is waited for") {
  CHECK(work().ok());
  CHECK_FALSE(did(kTakeBack));
  CHECK(nodes.get(kNode) != nullptr);
}

TEST_CASE_FIXTURE(Fixture, "while all is well the API server is not asked at all") {
  know_node(1);
  manual.advance(seconds(30));
  CHECK(work().ok());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a silent daemon's claim is handed back when its Lease is the same still") {
  know_node(1);
  manual.advance(kHeartbeatDuration + seconds(1));
  answers["GET " + kLeasePath] = {{200, lease_text(1)}};
  CHECK(work().ok());
  CHECK(did(kTakeBack));
}

TEST_CASE_FIXTURE(Fixture,
                  "a daemon that only seemed silent, since the watch brought nothing, keeps it") {
  know_node(1);
  manual.advance(kHeartbeatDuration + seconds(1));
  answers["GET " + kLeasePath] = {{200, lease_text(2)}};
  CHECK(work().ok());
  CHECK_FALSE(did(kTakeBack));
}

TEST_CASE_FIXTURE(Fixture, "without an answer nothing is handed back") {
  answers["GET " + kNodePath] = {{500, "{}"}};
  CHECK(work().error().code() == ErrorCode::kUnavailable);
  CHECK_FALSE(did(kTakeBack));
}

TEST_CASE_FIXTURE(Fixture, "a claim that was changed meanwhile is a conflict, and has no event") {
  answers["GET " + kNodePath] = {missing()};
  answers[kTakeBack] = {{409, R"({"kind":"Status","reason":"Conflict"})"}};
  CHECK(work().error().code() == ErrorCode::kConflict);
  CHECK(events_written().empty());
}

TEST_CASE_FIXTURE(Fixture, "a claim whose volume is there, bound or not, is left alone") {
  answers["GET " + kNodePath] = {missing()};
  put(volumes, volume_text(sample_spec(), "Available"));
  CHECK(work().ok());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "that no node has room is said only after a while, and not all the time") {
  know_unchosen();
  know_node(1, Bytes(0));
  const auto pass = [&](seconds after) {
    manual.advance(after);
    put(beats, lease_text(1, Bytes(0)));
    put(beats, lease_text(2, Bytes(0)));
    CHECK(work().ok());
  };
  pass(seconds(0));
  pass(seconds(14));
  pass(seconds(2));   // the first event
  pass(seconds(10));  // nothing new
  pass(seconds(60));  // its count
  const std::string written = events_written();
  CHECK(std::count(written.begin(), written.end(), '\n') == 2);
  CHECK(written.find(R"(0 of 1 nodes have 1Gi in pool \"default\" for backend lvm: 1 pool full)") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a claim that some node has room for is said nothing about") {
  know_unchosen();
  know_node(1);
  CHECK(work().ok());
  manual.advance(seconds(20));
  CHECK(work().ok());
  CHECK(events_written().empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a claim that no scheduler has chosen a node for is told, if its class is ours") {
  Claim claim = sample_claim();
  claim.selected_node.clear();
  claim.marked = false;
  const auto passes = [&](const std::string& storage_class) {
    claim.storage_class = storage_class;
    know_open(claim);
    for (const int second : {0, 20}) {
      manual.advance(seconds(second));
      know_node(second, Bytes(0));
      CHECK(work().ok());
    }
  };
  passes("theirs");
  passes("local");
  const std::string written = events_written();
  CHECK(std::count(written.begin(), written.end(), '\n') == 1);
  CHECK(written.find("1 pool full") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "why no node could ever serve a claim is said, since no node gets it") {
  put(classes,
      with(class_text(), R"("reclaimPolicy")", R"("parameters":{"poool":"fast"},"reclaimPolicy")"));
  Claim claim = sample_claim();
  claim.selected_node.clear();
  claim.marked = false;
  know_open(claim);
  for (const int second : {0, 20}) {
    manual.advance(seconds(second));
    CHECK(work().ok());
  }
  CHECK(events_written().find("parameter \\\"poool\\\" is not known") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "the choice of a node for a claim that is not marked is not touched") {
  answers["GET " + kNodePath] = {missing()};
  for (const std::string storage_class : {"local", "theirs"}) {
    Claim claim = sample_claim();
    claim.marked = false;
    claim.storage_class = storage_class;
    know_open(claim);
    CHECK(work().ok());
  }
  CHECK(journal.empty());
}

}  // namespace flexlocal::provisioner::test
