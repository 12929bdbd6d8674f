// What a controller of one node looks after, and what it leaves alone.
#include "test/unit/controller/node_scope_lab.h"

namespace flexlocal::provisioner::test {

TEST_CASE_FIXTURE(NodeScopeLab, "what is sent to its node is ordered once all nodes were heard") {
  start();
  CHECK(given().node == kNode);
  CHECK(given().origin == Origin::kNew);
  CHECK(has_called_roll());
}

TEST_CASE_FIXTURE(NodeScopeLab,
                  "of other nodes nothing is read as long as nothing new is ordered") {
  send_claim_to(kOtherNode);
  start();
  REQUIRE(has_begun());
  settle();
  CHECK_FALSE(has_ordered());
  CHECK_FALSE(has_called_roll());
  for (const std::string& target : server.asked) {
    const bool of_all = target.find("/persistentvolumeclaims?") != std::string::npos ||
                        target.find("/storageclasses?") != std::string::npos;
    const bool narrow = target.find("Selector=") != std::string::npos;
    CHECK_MESSAGE((of_all || narrow), target);
  }
}

TEST_CASE_FIXTURE(NodeScopeLab, "a node that is not heard holds back what is new") {
  server.beats.erase(kOtherNode);
  start();
  REQUIRE(run_until([this] { return has_called_roll(); }));
  settle();
  CHECK_FALSE(has_ordered());
  know_node(kOtherNode);
  CHECK(given().node == kNode);
}

TEST_CASE_FIXTURE(NodeScopeLab, "what another node has of the claim's volume is not covered") {
  SUBCASE("it tells of it") { beside[kOtherNode] = {told_copy(kUid)}; }
  SUBCASE("it was ordered to have it") {
    CopyOrder order = sample_order();
    order.origin = Origin::kExisting;
    order.node = kOtherNode;
    know_copy(order);
  }
  SUBCASE("it holds the claim's name") {
    CopyOrder order = sample_order(sample_spec(kOtherUid));
    order.node = kOtherNode;
    order.desired = DesiredState::kRetained;
    objects.put(copy_path(copy_name(order)), copy_json(order, sample_claim().key()));
  }
  start();
  CHECK(run_until([this] { return said("no new volume is made for the claim on node node-a"); }));
  settle();
  CHECK_FALSE(has_ordered());
}

TEST_CASE_FIXTURE(NodeScopeLab,
                  "nothing new is ordered of an API server that was put back since the roll call") {
  start();
  REQUIRE(run_until([this] { return has_ordered(); }));
  // As a backup has it, and before the next beat.
  server.beats.erase(kNode);
  settle();
  objects.journal.clear();
  objects.put_back(lease_path_of(kNode), "7");
  Claim next = sample_claim();
  next.name = "next";
  next.uid = kOtherUid;
  server.news.push_back(
      objects.put("/api/v1/namespaces/shop/persistentvolumeclaims/next", claim_text(next)));
  REQUIRE(run_until([this] { return log.has("was put back to an earlier state"); }));
  CHECK_FALSE(has_ordered());
}

TEST_CASE_FIXTURE(NodeScopeLab, "another node's copy that is gone covers nothing") {
  CopyOrder order = sample_order();
  order.node = kOtherNode;
  order.desired = DesiredState::kRemoved;
  objects.put(copy_path(copy_name(order)),
              merged(copy_json(order), R"({"status":{"state":"Removed","observedGeneration":1}})"));
  start();
  CHECK(given().node == kNode);
}

TEST_CASE_FIXTURE(NodeScopeLab,
                  "its own volume of a claim that was sent elsewhere is kept for it") {
  send_claim_to(kOtherNode);
  beside[kNode] = {told_copy(kUid)};
  start();
  CHECK(given().desired == DesiredState::kRetained);
  CHECK(given().origin == Origin::kExisting);
  CHECK(given().claim_uid == kUid);
}

TEST_CASE_FIXTURE(NodeScopeLab,
                  "where the API server was put back it serves, wherever the claim was sent") {
  put_back = true;
  send_claim_to(kOtherNode);
  beside[kNode] = {told_copy(kUid)};
  SUBCASE("it alone has one") {
    start();
    CHECK(given().desired == DesiredState::kServing);
  }
  SUBCASE("another node has one, too") {
    beside[kOtherNode] = {told_copy(kUid, "fedcba9876543210")};
    start();
    CHECK(given().desired == DesiredState::kRetained);
  }
}

TEST_CASE_FIXTURE(NodeScopeLab,
                  "a leader of all nodes leaves those alone that give their own orders") {
  options.scope = Scope::kAllNodes;
  options.own_node.clear();
  server.beats[kNode] = [this] {
    const std::string lease = merged(
        beat(kNode), R"({"metadata":{"annotations":{"flexlocal.io/provisioning":"distributed"}}})");
    return objects.put(lease_path_of(kNode), lease);
  };
  server.beats[kNode]();
  // Nobody's any more: it would be withdrawn.
  CopyOrder order = sample_order(sample_spec(kOtherUid));
  order.origin = Origin::kNew;
  know_copy(order);
  start();
  CHECK(run_until([this] { return said("gives its node's orders itself"); }));
  settle();
  CHECK_FALSE(has_ordered());
  CHECK(objects.count("PATCH volumecopies") == 0);
}

}  // namespace flexlocal::provisioner::test
