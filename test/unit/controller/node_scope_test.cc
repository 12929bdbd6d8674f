// A controller that gives the orders of one node, beside others that do so for theirs.
#include <algorithm>

#include "provisioner/controller/cluster_role.h"
#include "test/unit/controller/listing_server.h"
#include "test/unit/controller/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kOtherNodePath = "/api/v1/nodes/" + kOtherNode;

std::string lease_path_of(const std::string& node) { return heartbeat_path("ns", node); }

// As an agent tells it.
ToldCopy told_copy(const std::string& uid, const std::string& copy = kCopy) {
  engine::VolumeSpec volume = sample_spec(uid);
  volume.cluster_id.clear();
  volume.copy = copy;
  return {.volume = volume, .claim_uid = uid, .claim_name = "data", .ready = true};
}

// Two nodes with room, whose daemons beat, and a claim that was sent to the first.
struct Fixture : kube::test::Lab {
  ListingServer server;
  ObjectServer& objects = server.objects;
  kube::ApiClient api{server, clock, kube::ApiOptions{.limit = {}}};
  kube::Informer<VolumeCopy> copies{
      api,
      log,
      {"volumecopies", copies_path(), concat(kNodeLabel, '=', kNode), {}, {}},
      decode_copy};
  ClusterWork work;
  bool put_back = false;
  ClusterRoleOptions options;
  std::unique_ptr<ClusterRole> role;
  kube::TaskGroup tasks{io};
  std::map<std::string, std::vector<ToldCopy>> beside;  // by node
  int renewed = 1;

  Fixture() {
    options.namespace_name = "ns";
    options.scope = Scope::kOneNode;
    options.own_node = kNode;
    options.immediate = ImmediateBinding::kOff;
    options.scan_interval = std::chrono::milliseconds(1);
    options.retry = {std::chrono::milliseconds(1), std::chrono::milliseconds(5)};
    objects.put(kSystemPath, kSystem);
    objects.put("/apis/storage.k8s.io/v1/storageclasses/local", class_text());
    know_node(kNode);
    know_node(kOtherNode);
    objects.put(kClaimPath, claim_text(sample_claim()));
  }
  ~Fixture() {
    tasks.cancel();
    run_until([this] { return tasks.running() == 0; });
  }

  void know_node(const std::string& node) {
    objects.put(node_path(node), ready_node(node));
    beat(node);
    server.beats[node] = [this, node] { return beat(node); };
  }
  std::string beat(const std::string& node) {
    std::vector<std::string> sees;
    for (const std::string& path : objects.paths(copies_path()))
      if (const auto copy = decode_copy(parsed(objects.text(path)).root()); copy->agent == node)
        sees.push_back(copy->name);
    return objects.put(lease_path_of(node),
                       beat_of(node, ++renewed, kTenGiB, 0, std::move(sees), beside[node]));
  }
  void know_copy(const CopyOrder& order) {
    objects.put(copy_path(copy_name(order)), copy_json(order));
  }
  void send_claim_to(const std::string& node) {
    Claim claim = sample_claim();
    claim.selected_node = node;
    objects.put(kClaimPath, claim_text(claim));
  }
  void start() {
    role = std::make_unique<ClusterRole>(io, api, clock, log, options, work, put_back, &copies);
    tasks.spawn(copies.run());
    tasks.spawn(role->run());
  }
  bool has_begun() {
    return run_until([this] { return log.has("orders are given"); });
  }
  bool has_ordered() const { return objects.count("POST volumecopies") > 0; }
  // The order that was given.
  CopyOrder given() {
    REQUIRE(run_until([this] { return has_ordered(); }));
    for (const std::string& path : objects.paths(copies_path()))
      if (auto copy = decode_copy(parsed(objects.text(path)).root()); copy->agent == kNode)
        return *copy->order;
    FAIL("there is no order for this node");
    return sample_order();
  }
  // Whether all nodes' Leases were asked for.
  bool has_called_roll() const {
    return std::ranges::any_of(server.asked, [](const std::string& target) {
      return target.find("/leases?") != std::string::npos &&
             target.find("fieldSelector") == std::string::npos;
    });
  }
  bool event_says(const std::string& text) {
    return run_until([&] { return log.has(text) || said(text); });
  }
  bool said(const std::string& text) const {
    return std::ranges::any_of(objects.events, [&](const std::string& event) {
      return event.find(text) != std::string::npos;
    });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "what is sent to its node is ordered once all nodes were heard") {
  start();
  CHECK(given().node == kNode);
  CHECK(given().origin == Origin::kNew);
  CHECK(has_called_roll());
}

TEST_CASE_FIXTURE(Fixture, "of other nodes nothing is read as long as nothing new is ordered") {
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

TEST_CASE_FIXTURE(Fixture, "a node that is not heard holds back what is new") {
  server.beats.erase(kOtherNode);
  start();
  REQUIRE(run_until([this] { return has_called_roll(); }));
  settle();
  CHECK_FALSE(has_ordered());
  server.beats[kOtherNode] = [this] { return beat(kOtherNode); };
  // The watch that is open does not know of it: the next one does.
}

TEST_CASE_FIXTURE(Fixture, "what another node has of the claim's volume is not covered") {
  SUBCASE("it tells of it") { beside[kOtherNode] = {told_copy(kUid)}; }
  SUBCASE("it was ordered to have it") {
    CopyOrder order = sample_order();
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

TEST_CASE_FIXTURE(Fixture,
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

TEST_CASE_FIXTURE(Fixture, "another node's copy that is gone covers nothing") {
  CopyOrder order = sample_order();
  order.node = kOtherNode;
  order.desired = DesiredState::kRemoved;
  objects.put(copy_path(copy_name(order)),
              merged(copy_json(order), R"({"status":{"state":"Removed","observedGeneration":1}})"));
  start();
  CHECK(given().node == kNode);
}

TEST_CASE_FIXTURE(Fixture, "its own volume of a claim that was sent elsewhere is kept for it") {
  send_claim_to(kOtherNode);
  beside[kNode] = {told_copy(kUid)};
  start();
  CHECK(given().desired == DesiredState::kRetained);
  CHECK(given().origin == Origin::kExisting);
  CHECK(given().claim_uid == kUid);
}

TEST_CASE_FIXTURE(Fixture,
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

TEST_CASE_FIXTURE(Fixture, "a leader of all nodes leaves those alone that give their own orders") {
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
