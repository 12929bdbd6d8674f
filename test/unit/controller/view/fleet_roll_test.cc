// The roll call of a controller of one node: nothing of it may cover what another node has.
#include "test/unit/controller/node_scope_lab.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kThirdNode = "node-c";

struct Fixture : NodeScopeLab {
  void know_copy_as(const CopyOrder& order, const std::string& status) {
    objects.put(copy_path(copy_name(order)),
                merged(merged(copy_json(order), R"({"metadata":{"generation":1,"uid":"u1"}})"),
                       concat(R"({"status":)", status, '}')));
  }
  static CopyOrder new_order_of(const std::string& node) {
    CopyOrder order = sample_order();
    order.node = node;
    order.origin = Origin::kNew;
    order.volume.copy = "aaaabbbbccccdddd";
    return order;
  }
  // One that is not Ready, and whose daemon beats no more.
  void know_dead_node() {
    know_node(kThirdNode);
    std::string dead = ready_node(kThirdNode);
    dead.replace(dead.find(R"("True")"), 6, R"("Unknown")");
    objects.put(node_path(kThirdNode), dead);
    server.beats.erase(kThirdNode);
  }
  void show_claim(const std::string& node) {
    send_claim_to(node);
    role->view().claims.put(parsed(objects.text(kClaimPath)).root());
  }
  // The time goes on with what is done, at five times its pace.
  template <typename Until>
  bool passes(Until until) {
    return run_until([&] {
      manual.advance(std::chrono::milliseconds(5));
      return until();
    });
  }
  // Long enough for lists to be read, or dropped.
  void pass(std::chrono::seconds time) {
    const auto end = manual.now() + time;
    passes([&] { return manual.now() >= end; });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "an order of an earlier process is not bound where another node has data") {
  CopyOrder order = sample_order();
  order.origin = Origin::kNew;
  order.volume.copy = "aaaabbbbccccdddd";
  order.term = 5;
  follows[kNode] = 5;
  know_copy_as(order, R"({"state":"Promised","promised":true,"observedGeneration":1})");
  SUBCASE("that it tells of") { beside[kOtherNode] = {told_copy(kUid)}; }
  SUBCASE("that it tells of, after a put-back") {
    put_back = true;
    beside[kOtherNode] = {told_copy(kUid)};
  }
  SUBCASE("that was ordered") {
    CopyOrder other = sample_order();
    other.node = kOtherNode;
    other.desired = DesiredState::kRetained;
    know_copy_as(other,
                 R"({"state":"Retained","promised":true,"made":true,"observedGeneration":1})");
  }
  start();
  CHECK(run_until([this] { return said("no new volume is made for the claim on node node-a"); }));
  settle();
  CHECK(objects.count("POST persistentvolumes") == 0);
}

TEST_CASE_FIXTURE(Fixture, "an order of another node's that nobody has written to is passed over") {
  CopyOrder other = new_order_of(kOtherNode);
  std::string answer = "{}";
  SUBCASE("not answered yet") {}
  SUBCASE("withdrawn, and not answered yet") {
    other.desired = DesiredState::kWithdrawn;
    answer = R"({"state":"Ready","promised":true,"made":true})";
  }
  SUBCASE("withdrawn, and gone") {
    other.desired = DesiredState::kWithdrawn;
    answer = R"({"state":"Removed","promised":true,"made":true,"observedGeneration":1})";
  }
  SUBCASE("gone, after a put-back") {
    put_back = true;
    other.desired = DesiredState::kRemoved;
    answer = R"({"state":"Removed","promised":true,"made":true,"observedGeneration":1})";
  }
  know_copy_as(other, answer);
  start();
  CHECK(given().node == kNode);
}

TEST_CASE_FIXTURE(Fixture, "nothing empty is made beside what a pod may have had on another node") {
  CopyOrder other = new_order_of(kOtherNode);
  std::string answer;
  SUBCASE("withdrawn, and kept") {
    other.desired = DesiredState::kWithdrawn;
    answer =
        R"({"state":"Retained","promised":true,"made":true,"used":true,"observedGeneration":1})";
  }
  SUBCASE("of which its node says what is not known here") {
    answer = R"({"state":"Sealed","promised":true,"made":true,"observedGeneration":1})";
  }
  SUBCASE("going, after a put-back") {
    put_back = true;
    other.desired = DesiredState::kRemoved;
    answer = R"({"state":"Removing","promised":true,"made":true,"observedGeneration":1})";
  }
  SUBCASE("gone by an order that nobody withdrew, after a put-back") {
    put_back = true;
    answer = R"({"state":"Removed","promised":true,"made":true,"observedGeneration":1})";
  }
  know_copy_as(other, answer);
  start();
  CHECK(run_until([this] { return said("no new volume is made for the claim on node node-a"); }));
  CHECK_FALSE(has_ordered());
}

TEST_CASE_FIXTURE(
    Fixture, "a node that followed what the API server has not shows a put-back by its own terms") {
  follows[kOtherNode] = 9000;
  CopyOrder order = sample_order(sample_spec(kOtherUid));
  order.desired = DesiredState::kRetained;
  SUBCASE("above ours") { order.term = 8999; }
  SUBCASE("below ours") { order.term = 10000; }
  know_copy_as(order, R"({"state":"Retained","promised":true,"made":true,"observedGeneration":1})");
  follows[kNode] = order.term;
  know_dead_node();
  start(manual);
  CHECK(passes([this] { return said("was put back to an earlier state"); }));
  CHECK_FALSE(has_ordered());
}

TEST_CASE_FIXTURE(Fixture, "a daemon that has ended is waited for as long as its Lease says") {
  know_node(kThirdNode);
  server.beats.erase(kThirdNode);
  start(manual);
  const auto patience = manual.now() + kHeartbeatDuration;
  CHECK(run_until([&] {
    manual.advance(std::chrono::milliseconds(200));
    return has_ordered();
  }));
  CHECK(manual.now() > patience);
}

TEST_CASE_FIXTURE(Fixture, "a node that has not followed its latest order yet shows none") {
  follows[kOtherNode] = 1;
  CopyOrder order = sample_order(sample_spec(kOtherUid));
  order.node = kOtherNode;
  order.desired = DesiredState::kRemoved;
  order.term = 5000;
  know_copy_as(order, R"({"state":"Removing","promised":true,"made":true,"observedGeneration":1})");
  know_dead_node();
  start();
  CHECK(given().node == kNode);
}

TEST_CASE_FIXTURE(Fixture, "a reading that comes to nothing forgets nothing, and is told of") {
  std::string fails;
  SUBCASE("VolumeCopies cannot be listed") {
    fails = "volumecopies";
    CopyOrder order = sample_order(sample_spec(kOtherUid));
    order.node = kOtherNode;
    order.desired = DesiredState::kRetained;
    objects.put(copy_path(copy_name(order)), copy_json(order, sample_claim().key()));
  }
  SUBCASE("Leases cannot be listed") {
    fails = "leases";
    beside[kOtherNode] = {told_copy(kOtherUid)};
  }
  start(manual);
  REQUIRE(passes([this] { return said("no new volume is made for the claim on node node-a"); }));
  // The scheduler thinks again, and the lists are dropped.
  show_claim(kOtherNode);
  pass(std::chrono::seconds(2 * FleetRoll::kKept));
  server.denied = fails;
  objects.events.clear();
  show_claim(kNode);
  CHECK(passes([this] { return said("before all nodes have said which ones they have"); }));
  show_claim(kOtherNode);
  pass(std::chrono::seconds(2 * FleetRoll::kKept));
  server.denied = "";
  objects.events.clear();
  show_claim(kNode);
  // Said again, by the count of its event.
  CHECK(passes([this] { return !objects.events.empty(); }));
  pass(std::chrono::seconds(20));
  CHECK_FALSE(has_ordered());
}

TEST_CASE_FIXTURE(Fixture, "a claim that was sent to a node which waits for a leader goes back") {
  options.scope = Scope::kAbsentNodes;
  options.own_node.clear();
  start();
  CHECK(run_until([this] { return said("waits for the orders of a leader"); }));
  CHECK(objects.count("PATCH persistentvolumeclaims") > 0);
}

}  // namespace flexlocal::provisioner::test
