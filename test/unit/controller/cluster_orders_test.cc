#include <algorithm>

#include "provisioner/controller/cluster_role.h"
#include "test/unit/controller/listing_server.h"
#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

// A claim whose node was chosen, and a leader that begins.
struct Fixture : kube::test::Lab {
  ListingServer server;
  ObjectServer& objects = server.objects;
  kube::ApiClient api{server, clock, kube::ApiOptions{.limit = {}}};
  ClusterWork work;
  bool put_back = false;
  ClusterRoleOptions options;
  std::unique_ptr<ClusterRole> role;
  kube::TaskGroup term{io};
  std::int64_t followed = 0;  // by the node, of terms
  int beats = 1;

  Fixture() {
    server.beats[kNode] = [this] { return beat(); };
    options.namespace_name = "ns";
    options.lease_namespace = "beats";
    options.scan_interval = std::chrono::milliseconds(1);
    options.retry = {std::chrono::milliseconds(1), std::chrono::milliseconds(5)};
    objects.put(kSystemPath, kSystem);
    objects.put(kNodePath, ready_node(kNode));
    beat();
    objects.put("/apis/storage.k8s.io/v1/storageclasses/local", class_text());
    objects.put(kClaimPath, claim_text(sample_claim()));
  }
  ~Fixture() {
    term.cancel();
    run_until([this] { return term.running() == 0; });
  }

  std::string beat() {
    std::vector<std::string> sees;
    for (const std::string& path : objects.paths(copies_path()))
      sees.push_back(path.substr(path.rfind('/') + 1));
    return objects.put(kLeasePath, beat_of(kNode, ++beats, kTenGiB, followed, std::move(sees)));
  }
  void start() {
    role = std::make_unique<ClusterRole>(io, api, clock, log, options, work, put_back);
    term.spawn(role->run());
  }
  void end() {
    role->stop();
    REQUIRE(run_until([this] { return term.running() == 0; }));
  }
  bool has_ordered() const { return objects.count("POST volumecopies") > 0; }
  // Of the claim.
  CopyOrder given() {
    REQUIRE(run_until([this] { return has_ordered(); }));
    for (const std::string& path : objects.paths(copies_path()))
      if (auto copy = decode_copy(parsed(objects.text(path)).root());
          copy->order && copy->order->claim_uid == kUid)
        return *copy->order;
    FAIL("there is no order of the claim");
    return sample_order();
  }
  // An order of some other volume, that needs nothing.
  void know_order_of(std::int64_t leader) {
    CopyOrder order = sample_order(sample_spec(kOtherUid));
    order.desired = DesiredState::kRetained;
    order.term = leader;
    objects.put(copy_path(copy_name(order)), copy_json(order));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "an order that is lost is given again at once, though its volume rests") {
  options.scan_interval = std::chrono::hours(1);
  const std::string path = copy_path(copy_name(sample_order()));
  const std::string ready =
      R"({"status":{"state":"Ready","promised":true,"made":true,"observedGeneration":1}})";
  objects.put(path, merged(copy_json(sample_order()), ready));
  objects.put(kVolumePath, volume_text(sample_spec(), "Bound"));
  objects.put(kClaimPath, claim_text(bound_claim("1Gi")));
  start();
  REQUIRE(run_until([&] { return log.has("orders are given"); }));
  settle();
  CHECK_FALSE(has_ordered());
  server.gone.push_back(merged(objects.text(path), R"({"metadata":{"resourceVersion":"900000"}})"));
  objects.erase(path);
  CHECK(given().origin == Origin::kExisting);
}

TEST_CASE_FIXTURE(Fixture, "a claim that asked for more before the term grows") {
  options.scan_interval = std::chrono::hours(1);
  const std::string path = copy_path(copy_name(sample_order()));
  objects.put(path, merged(copy_json(sample_order()),
                           R"({"status":{"state":"Ready","promised":true,"made":true,)"
                           R"("size":"1Gi","observedGeneration":1}})"));
  objects.put(kVolumePath, volume_text(sample_spec(), "Bound"));
  objects.put(kClaimPath, claim_text(bound_claim("2Gi")));
  start();
  CHECK(run_until([&] { return objects.count("PATCH volumecopies") > 0; }));
  const auto copy = decode_copy(parsed(objects.text(path)).root());
  CHECK(copy->order->volume.size == kGiB + kGiB);
}

TEST_CASE_FIXTURE(Fixture, "a leader that begins finds the bound volume of a withdrawn copy") {
  CopyOrder withdrawn = sample_order();
  withdrawn.desired = DesiredState::kWithdrawn;
  objects.put(copy_path(copy_name(withdrawn)),
              merged(copy_json(withdrawn),
                     R"({"status":{"state":"Removed","promised":true,"observedGeneration":1}})"));
  objects.put(kVolumePath, volume_text(sample_spec(), "Bound"));
  objects.put(kClaimPath, claim_text(bound_claim("1Gi")));
  start();
  REQUIRE(run_until([&] { return log.has("orders are given"); }));
  CHECK(run_until([&] { return objects.count("PATCH volumecopies") > 0; }));
}

TEST_CASE_FIXTURE(Fixture, "a leader orders what waited for it, for the cluster that it is in") {
  start();
  CHECK(given().volume.cluster_id == kCluster);
  CHECK(given().node == kNode);
  CHECK(given().term >= 1);
}

TEST_CASE_FIXTURE(Fixture, "no order is given while one list is missing") {
  for (const char* missing :
       {"persistentvolumes", "storageclasses", "nodes", "leases", "volumecopies"}) {
    INFO(std::string(missing));
    log.lines.clear();
    server.denied = missing;
    // So that it is looked for a second time, when all other lists are complete.
    objects.fails["GET namespaces"] = {403};
    start();
    REQUIRE(run_until([&] { return log.has("list failed"); }));
    REQUIRE(run_until([&] { return objects.count("GET namespaces") == 2; }));
    settle();
    CHECK_FALSE(has_ordered());
    end();
    objects.journal.clear();
  }
}

TEST_CASE_FIXTURE(Fixture, "no order is given while the cluster's id is not known") {
  objects.erase(kSystemPath);
  start();
  REQUIRE(run_until([&] { return objects.count("GET namespaces") > 1; }));
  CHECK_FALSE(has_ordered());
  objects.put(kSystemPath, kSystem);
  CHECK(given().volume.cluster_id == kCluster);
}

TEST_CASE_FIXTURE(Fixture,
                  "a term is above that of every order, and is known before any is given") {
  know_order_of(41);
  followed = 12;
  beat();
  start();
  CHECK(given().term >= 42);
  CHECK(given().term < 42 + 4096);
}

TEST_CASE_FIXTURE(Fixture,
                  "a term is above what any node has followed, also where orders are lost") {
  know_order_of(41);
  followed = 99;
  beat();
  start();
  CHECK(given().term >= 100);
}

TEST_CASE_FIXTURE(Fixture,
                  "nothing new is ordered before the node has beaten and seen its orders") {
  server.beats[kNode] = [this] {
    return objects.put(kLeasePath, beat_of(kNode, ++beats, kTenGiB, followed, {"another"}));
  };
  start();
  REQUIRE(run_until([&] { return log.has("orders are given"); }));
  REQUIRE(run_until([&] { return beats > 20; }));
  CHECK_FALSE(has_ordered());
  server.beats[kNode] = [this] { return beat(); };
  CHECK(given().node == kNode);
}

TEST_CASE_FIXTURE(Fixture, "a node that has followed a later leader begins a new term") {
  start();
  REQUIRE(run_until([&] { return has_ordered(); }));
  followed = given().term + 100'000;
  log.lines.clear();
  CHECK(run_until([&] { return log.has("orders are given"); }));
}

TEST_CASE_FIXTURE(Fixture,
                  "that the API server was put back is forgotten once all nodes are heard") {
  put_back = true;
  start();
  REQUIRE(run_until([&] { return has_ordered(); }));
  CHECK_FALSE(put_back);
}

TEST_CASE_FIXTURE(Fixture, "where the nodes give their orders themselves, a claim gets none here") {
  options.scope = Scope::kAbsentNodes;
  know_order_of(41);
  start();
  REQUIRE(run_until([&] { return objects.count("PATCH nodes") > 0; }));
  REQUIRE(run_until([&] { return log.has("orders are given"); }));
  settle();
  CHECK_FALSE(has_ordered());
}

TEST_CASE_FIXTURE(Fixture, "a claim that has its order gets no second one from the next leader") {
  start();
  const std::string id = given().volume.copy;
  end();
  objects.journal.clear();
  log.lines.clear();
  start();
  REQUIRE(run_until([&] { return log.has("orders are given"); }));
  settle();
  CHECK_FALSE(has_ordered());
  CHECK(objects.paths(copies_path()).size() == 1);
  CHECK(objects.paths(copies_path()).front().ends_with(id));
}

}  // namespace flexlocal::provisioner::test
