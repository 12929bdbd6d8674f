#include "provisioner/agent/node_role.h"

#include <algorithm>

#include "test/unit/agent/node_lab.h"
#include "test/unit/kube/byte_sink.h"

namespace flexlocal::provisioner::test {
namespace {

using kube::HttpRequest;
using kube::HttpResponse;
using kube::Method;

// An API server without streaming lists, with one page of each kind; its watches bring nothing and
// never end.
struct QuietServer final : kube::Http {
  std::vector<std::string> claims, volumes, classes{class_text()};
  std::vector<std::string>& journal;
  std::string denied;  // a list that is refused
  kube::Condition never;

  explicit QuietServer(std::vector<std::string>& calls) : journal(calls) {}

  static std::string page(const std::vector<std::string>& items) {
    return concat(R"({"metadata":{"resourceVersion":"1"},"items":[)", join(items, ","), "]}");
  }
  std::string list(const std::string& target) const {
    if (target == "/apis/storage.k8s.io/v1")
      return R"({"resources":[{"name":"csistoragecapacities"}]})";
    if (target.find("/csistoragecapacities") != std::string::npos) return page({});
    if (target.find("/api/v1/nodes/") != std::string::npos)
      return concat(R"({"metadata":{"name":")", kNode,
                    R"("},"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
    if (target.find("/persistentvolumeclaims") != std::string::npos) return page(claims);
    if (target.find("/storageclasses") != std::string::npos) return page(classes);
    if (target.find("/persistentvolumes/") == std::string::npos) return page(volumes);
    for (const std::string& volume : volumes)
      if (volume.find(target.substr(target.rfind('/') + 1)) != std::string::npos) return volume;
    return "{}";
  }
  kube::Task<Result<HttpResponse>> send(const HttpRequest& request) override {
    HttpResponse response{.status = 200, .body = "{}", .retry_after = {}};
    if (request.method != Method::kGet) {
      journal.push_back(concat(to_string(request.method), ' ', request.target));
      response.body = request.body;
    } else if (!denied.empty() && request.target.find(denied) != std::string::npos) {
      response.status = 403;
    } else {
      response.body = list(request.target);
      if (response.body == "{}") response.status = 404;
    }
    co_return response;
  }
  kube::Task<Result<HttpResponse>> stream(const HttpRequest& request,
                                          kube::ByteSink& sink) override {
    if (!request.trickles) {
      auto response = co_await send(request);
      co_return kube::test::deliver(std::move(response), sink);
    }
    if (request.target.find("sendInitialEvents") != std::string::npos)
      co_return HttpResponse{.status = 422, .body = "{}", .retry_after = {}};
    Status waited;
    while (waited) waited = co_await never.wait();
    co_return waited.error();
  }
};

struct Fixture : kube::test::Lab {
  std::vector<std::string> journal;
  FakeStorage storage{journal};
  QuietServer server{journal};
  kube::ApiClient api{server, clock, kube::ApiOptions{.limit = {}}};
  engine::NodeConfig config;
  std::unique_ptr<NodeRole> role;
  bool ended = false;
  kube::BackoffOptions retry{std::chrono::milliseconds(1), std::chrono::milliseconds(5)};
  std::chrono::seconds tidy_interval{60};
  ImmediateBinding immediate = ImmediateBinding::kOff;

  Fixture() { config.pools["default"].volume_group = "vg"; }
  ~Fixture() {
    stop();  // before the role goes: its tasks refer to it
  }

  static kube::Task<void> run(NodeRole& role, bool& ended) {
    co_await role.run();
    ended = true;
  }
  void start() {
    NodeRoleOptions options;
    options.retry = retry;
    options.disks.tidy = tidy_interval;
    options.disks.limits = std::chrono::milliseconds(1);
    options.disks.resume = std::chrono::milliseconds(1);
    options.immediate = immediate;
    options.capacity.namespace_name = "ns";
    options.orphan_grace = std::chrono::seconds(0);
    options.orphan_policy = OrphanPolicy::kDelete;
    role = std::make_unique<NodeRole>(io, api, storage, config, clock, log,
                                      Membership{kNodeIdentity, kCluster, kMuchMemory}, options);
    tasks.spawn(run(*role, ended));
  }
  bool stop() {
    if (role && !ended) role->stop();
    return !role || run_until([this] { return ended; });
  }
  bool did(const std::string& call) const {
    return std::find(journal.begin(), journal.end(), call) != journal.end();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a claim that was there before the daemon gets its volume") {
  server.claims = {claim_text(sample_claim())};
  start();
  CHECK(run_until([&] { return did("POST " + kVolumes); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a claim of a class of ours gets its volume before it is marked") {
  Claim claim = sample_claim();
  claim.marked = false;
  server.claims = {claim_text(claim)};
  start();
  CHECK(run_until([&] { return did("POST " + kVolumes); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a bound claim that was never marked is known by its volume's class") {
  Claim claim = bound_claim("2Gi", "1Gi");
  claim.marked = false;
  server.claims = {claim_text(claim)};
  server.volumes = {volume_text(sample_spec(), "Bound")};
  server.classes.clear();
  start();
  CHECK(run_until([&] { return role->has_synced(); }));
  CHECK(role->parts().claims.get("shop/data") != nullptr);
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture,
                  "pods' I/O limits are looked after again and again, also after trouble") {
  storage.limits_status = Error(ErrorCode::kUnavailable, "no such cgroup");
  start();
  CHECK(run_until([&] { return storage.limit_refreshes >= 3; }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "suspended devices are looked for again and again, also after trouble") {
  storage.resume_status = Error(ErrorCode::kDeadline, "lvchange did not end");
  start();
  CHECK(run_until([&] { return storage.resumptions >= 3; }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a claim that asked for more before the daemon came gets it") {
  server.claims = {claim_text(bound_claim("2Gi"))};
  server.volumes = {volume_text(sample_spec(), "Bound")};
  start();
  CHECK(run_until([&] { return did("PATCH " + kClaimPath + "/status"); }));
  CHECK(did("grow pvc-" + kUid + " to 2048"));
  CHECK(did("PATCH " + kVolumePath));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a growth that the daemon's look completes is told at once") {
  Claim claim = bound_claim("2Gi");
  claim.file_system_pending = true;
  server.claims = {claim_text(claim)};
  const std::string name = "pvc-" + kUid;
  server.volumes = {with(volume_text(sample_spec(), "Bound"), R"("capacity":{"storage":"1Gi"})",
                         R"("capacity":{"storage":"2Gi"})")};
  storage.present.holdings = {{name, "group:vg", Bytes(2 * kGiB.count())}};
  engine::LogicalVolume mounted;
  mounted.name = name;
  mounted.open = true;
  storage.present.volumes = {mounted};
  storage.present.behind = {name};
  storage.completes_growths = true;
  start();
  CHECK(run_until([&] { return did("PATCH " + kClaimPath + "/status"); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a record that the daemon's look makes anew gets its claim at once") {
  const std::string name = "pvc-" + kUid;
  server.claims = {claim_text(bound_claim("1Gi"))};
  server.volumes = {volume_text(sample_spec(), "Bound")};
  SUBCASE("of a logical volume") {
    engine::LogicalVolume found;
    found.name = name;
    found.ownership.emplace();
    found.ownership->ready = true;
    storage.present.volumes = {found};
  }
  SUBCASE("of a quota folder") { storage.present.folders = {{name, "default", {}, kGiB}}; }
  storage.adopted = name;
  start();
  CHECK(run_until([&] { return did("record ReadWriteOnce of " + name + " for " + kUid); }));
  CHECK(storage.looks == 2);
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "where every volume has its record the disks are looked at once") {
  engine::LogicalVolume found;
  found.name = "pvc-" + kUid;
  found.ownership.emplace();
  found.ownership->ready = true;
  storage.present.volumes = {found};
  storage.present.claims = {{found.name, {kCluster, kUid}}};
  start();
  CHECK(run_until([&] { return role->has_synced() && did("settle"); }));
  settle();
  CHECK(storage.looks == 1);
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a volume that was released before the daemon is reclaimed") {
  server.volumes = {volume_text(sample_spec(), "Released")};
  start();
  CHECK(run_until([&] { return did("PATCH " + kVolumePath); }));
  CHECK(did("remove pvc-" + kUid));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "no pass is spent on claims of other nodes") {
  Claim elsewhere = sample_claim();
  elsewhere.selected_node = "node-z";
  Claim nowhere = sample_claim();
  nowhere.uid = kOtherUid;
  nowhere.name = "nowhere";
  nowhere.selected_node = "";
  server.claims = {claim_text(elsewhere), claim_text(nowhere)};
  start();
  REQUIRE(run_until([&] { return role->has_synced(); }));
  settle();
  for (const kube::Counter& adds : role->queue().stats().adds) CHECK(adds.value() == 0);
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "nothing is decided while one list is missing") {
  server.claims = {claim_text(sample_claim())};
  server.volumes = {volume_text(sample_spec(kOtherUid), "Released")};
  for (const char* missing : {"/storageclasses", "/persistentvolumes", "/persistentvolumeclaims"}) {
    server.denied = missing;
    start();
    CHECK(run_until([&] { return log.has("list failed"); }));
    settle();
    CHECK(std::all_of(journal.begin(), journal.end(),
                      [](const std::string& call) { return call == "settle"; }));
    CHECK(stop());
    ended = false;
    log.lines.clear();
  }
  role.reset();
}

TEST_CASE_FIXTURE(Fixture, "records and tags are brought together from the start") {
  start();
  CHECK(run_until([&] { return did("settle"); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a failure is tried again until it succeeds") {
  server.volumes = {volume_text(sample_spec(), "Released")};
  storage.remove_status = Error(ErrorCode::kBusy, "in use");
  start();
  REQUIRE(run_until(
      [&] { return std::count(journal.begin(), journal.end(), "remove pvc-" + kUid) >= 3; }));
  CHECK_FALSE(did("DELETE " + kVolumePath));
  storage.remove_status = Status();
  CHECK(run_until([&] { return did("PATCH " + kVolumePath); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "told to stop, it writes the events that wait, and ends") {
  Claim small = sample_claim();
  small.requested = "1Mi";
  server.claims = {claim_text(small)};
  start();
  REQUIRE(run_until([&] { return log.has("will be tried again"); }));
  CHECK(stop());
  CHECK(did("POST /api/v1/namespaces/shop/events"));
}

TEST_CASE_FIXTURE(Fixture, "told to stop, it begins nothing more of what waits") {
  for (int i = 0; i < 50; ++i) {
    const std::string uid = concat("0b1c2d3e-0000-4000-8000-0000000000", 10 + i);
    server.volumes.push_back(volume_text(sample_spec(uid), "Released"));
  }
  start();
  const auto removals = [&] {
    return std::count_if(journal.begin(), journal.end(),
                         [](const std::string& call) { return call.starts_with("remove "); });
  };
  REQUIRE(run_until([&] { return removals() >= 1; }));
  role->stop();
  const auto begun = removals();
  CHECK(stop());
  CHECK(removals() <= begun + 4);  // one for each worker
}

TEST_CASE_FIXTURE(Fixture, "a volume that nobody stands for is removed while others have theirs") {
  engine::LogicalVolume orphan;
  orphan.group = "vg";
  orphan.name = "pvc-" + kOtherUid;
  orphan.ownership.emplace();
  orphan.ownership->copy = kCopy;
  orphan.ownership->cluster_id = kCluster;
  orphan.ownership->claim_uid = kOtherUid;
  orphan.ownership->claim_namespace = "shop";
  orphan.ownership->pool = "default";
  engine::LogicalVolume kept = orphan;
  kept.name = "pvc-" + kUid;
  kept.ownership->claim_uid = kUid;
  storage.present.volumes = {kept, orphan};
  server.claims = {claim_text(bound_claim("1Gi"))};
  server.volumes = {volume_text(sample_spec(), "Bound")};
  start();
  CHECK(run_until([&] { return did("remove " + orphan.name); }));
  CHECK_FALSE(did("remove " + kept.name));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "told to stop before it has begun, it ends all the same") {
  start();
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a long wipe lets others come in between, and stops with the daemon") {
  server.volumes = {volume_text(sample_spec(), "Released")};
  storage.slices.assign(1000, {false, kGiB, kGiB + kGiB});
  start();
  const auto slices = [&] {
    return std::count(journal.begin(), journal.end(), "remove pvc-" + kUid);
  };
  REQUIRE(run_until([&] { return slices() >= 2; }));
  CHECK_FALSE(did("DELETE " + kVolumePath));
  CHECK(stop());
  CHECK(slices() < 100);
}

TEST_CASE_FIXTURE(Fixture,
                  "a claim that waits for no pod is taken when this node takes part, only") {
  Claim claim = sample_claim();
  claim.selected_node.clear();
  server.claims = {claim_text(claim)};
  server.classes = {with(class_text(), "WaitForFirstConsumer", "Immediate")};
  SUBCASE("it does") {
    immediate = ImmediateBinding::kRank;
    start();
    CHECK(run_until([&] { return did("PATCH " + kClaimPath); }));
  }
  SUBCASE("it does not") {
    start();
    CHECK(run_until([&] { return role->has_synced() && did("settle"); }));
    settle();
    CHECK_FALSE(did("PATCH " + kClaimPath));
  }
  CHECK(stop());
}

}  // namespace flexlocal::provisioner::test
