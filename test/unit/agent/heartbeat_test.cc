#include "provisioner/agent/heartbeat.h"

#include "flexvolume/base/version.h"
#include "provisioner/agent/node_report.h"
#include "test/unit/agent/node_lab.h"
#include "test/unit/kube/lease_server.h"

namespace flexlocal::provisioner::test {
namespace {

using kube::test::LeaseServer;
using std::chrono::milliseconds;
using std::chrono::seconds;

NodeReport ready_report() {
  NodeReport report;
  report.pools["default"]["lvm"] = {
      .size = kGiB + kGiB, .free = kGiB, .largest = kMiB, .unit = kKiB};
  report.budget = NodeBudget{.memory = kGiB};
  report.given["default"] = kGiB;
  return report;
}

std::optional<NodeHeartbeat> decoded(const std::string& text) {
  const auto document = JsonDocument::parse(text);
  REQUIRE(document.ok());
  return decode_heartbeat(document->root());
}

struct Fixture : kube::test::Lab {
  LeaseServer server;
  kube::test::FakeHttp http;
  kube::test::ManualClock manual;
  kube::ApiClient api{http, clock, kube::ApiOptions{.limit = {}}};
  NodeReport report = ready_report();
  bool reachable = true;
  Heartbeat heartbeat{api, manual, log, options(), [this] { return report; }};

  Fixture() {
    http.answer = [this](const kube::HttpRequest& request) -> Result<kube::HttpResponse> {
      if (!reachable) return Error(ErrorCode::kUnavailable, "no server");
      return server.answer(request);
    };
  }
  static HeartbeatOptions options() {
    HeartbeatOptions options;
    options.lease_namespace = "ns";
    options.owner = {kNode, "u-1", kNode};
    options.gives_way = true;
    options.interval = milliseconds(1);
    options.shortest = milliseconds(1);
    return options;
  }
  bool beats(std::size_t count) {
    return run_until([&] { return http.seen.size() >= count; });
  }
};

}  // namespace

TEST_CASE("a beat says who, which version, whether ready, and with what room; all is read back") {
  kube::Lease lease;
  lease.name = heartbeat_name(kNode);
  const Clock::Wall now{seconds(1'700'000'000)};
  write_heartbeat({kNode, "u-1", kNode}, ready_report(), now, lease);
  CHECK(lease.name == "node-node-a");
  CHECK(lease.annotations.at("flexlocal.io/version") == version());
  CHECK(lease.annotations.at("flexlocal.io/ready") == "true");
  CHECK_FALSE(lease.annotations.contains("flexlocal.io/reason"));
  CHECK(
      lease.annotations.at("flexlocal.io/pools") ==
      R"({"default":{"lvm":{"size":2147483648,"free":1073741824,"largest":1048576,"unit":1024}}})");
  CHECK(lease.annotations.at("flexlocal.io/budget") ==
        R"({"memory":1073741824,"ramFraction":"0.85","diskPerRam":"32","pools":{"default":)"
        R"({"budget":29205777612,"used":1073741824,"free":28132035788}}})");
  REQUIRE(lease.owners.size() == 1);
  CHECK(lease.owners[0].uid == "u-1");
  const auto beat = decoded(encode_lease(lease));
  REQUIRE(beat.has_value());
  CHECK(beat->node == kNode);
  CHECK(beat->renewed == now);
  CHECK(beat->duration == kHeartbeatDuration);
  CHECK(beat->version == version());
  CHECK(beat->report.trouble.empty());
  const PoolFigures& figures = beat->report.pools.at("default").at("lvm");
  CHECK(figures.free == kGiB);
  CHECK(figures.largest == kMiB);
  CHECK(figures.unit == kKiB);
  REQUIRE(beat->report.budget.has_value());
  CHECK(beat->report.budget->memory == kGiB);
  CHECK(beat->report.budget->limit({}) == NodeBudget{.memory = kGiB}.limit({}));
  CHECK(beat->report.given.at("default") == kGiB);
}

TEST_CASE("a daemon that is not ready says why, until it is") {
  kube::Lease lease;
  NodeReport report = ready_report();
  report.trouble = "the volume group is gone:\nvgs lists none";
  write_heartbeat({kNode, "u-1", kNode}, report, {}, lease);
  CHECK(lease.annotations.at("flexlocal.io/ready") == "false");
  CHECK(lease.annotations.at("flexlocal.io/reason") == "the volume group is gone:?vgs lists none");
  write_heartbeat({kNode, "u-1", kNode}, ready_report(), {}, lease);
  CHECK_FALSE(lease.annotations.contains("flexlocal.io/reason"));
}

TEST_CASE("a stranger's Lease is no heartbeat, and nonsense in one reads as absent") {
  CHECK_FALSE(decoded(R"({"metadata":{"name":"flexlocal-cluster"}})").has_value());
  CHECK_FALSE(decoded(R"({"metadata":{"name":"node-"}})").has_value());
  const auto beat = decoded(
      R"({"metadata":{"name":"node-a","annotations":{"flexlocal.io/pools":)"
      R"("{\"p\":{\"lvm\":{\"size\":-1,\"free\":\"x\",\"unit\":2199023255552},\"thin\":7},\"q\":[]}"}}})");
  REQUIRE(beat.has_value());
  CHECK(beat->report.trouble == "no reason given");
  CHECK(beat->report.pools.at("p").at("lvm").size == Bytes(0));
  CHECK(beat->report.pools.at("p").at("lvm").unit == Bytes(0));
  CHECK(beat->report.pools.at("p").at("thin").free == Bytes(0));
  CHECK_FALSE(beat->report.pools.contains("q"));
  CHECK(decoded(R"({"metadata":{"name":"node-a","annotations":{"flexlocal.io/pools":"[["}}})")
            ->report.pools.empty());
}

TEST_CASE_FIXTURE(Fixture, "the first beat makes the Lease, the others renew it with one request") {
  tasks.spawn(heartbeat.run());
  REQUIRE(beats(4));
  CHECK(http.seen[0].method == kube::Method::kPost);
  for (std::size_t i = 1; i < 4; ++i) CHECK(http.seen[i].method == kube::Method::kPut);
  // The clock stands still here, and yet each beat is another than the one before.
  CHECK(*server.lease->renewed > manual.wall());
  CHECK(log.lines.empty());
}

TEST_CASE_FIXTURE(Fixture, "a Lease that is there already, or was changed, is read and renewed") {
  kube::Lease earlier;
  earlier.labels = {{"kept", "yes"}};
  REQUIRE(server.create(earlier).ok());
  tasks.spawn(heartbeat.run());
  REQUIRE(run_until([&] { return server.lease->holder == kNode; }));
  CHECK(server.lease->labels.at("kept") == "yes");
  kube::Lease changed = *server.lease;
  changed.labels["changed"] = "yes";
  REQUIRE(server.update(changed).ok());
  const auto renewed = *server.lease->renewed;
  CHECK(run_until([&] { return *server.lease->renewed > renewed; }));
  CHECK(server.lease->labels.at("changed") == "yes");
  server.lease.reset();
  CHECK(run_until([&] { return server.lease.has_value(); }));
}

TEST_CASE_FIXTURE(Fixture, "while another host beats for the Node, nothing is written") {
  kube::Lease others;
  others.holder = "another";
  others.renewed = manual.wall();
  REQUIRE(server.create(others).ok());
  std::vector<Status> heard;
  heartbeat.on_beat([&](const Status& beaten) { heard.push_back(beaten); });
  tasks.spawn(heartbeat.run());
  const auto hears = [&](ErrorCode code) {
    heard.clear();
    return run_until([&] { return !heard.empty() && !heard.back().ok(); }) &&
           heard.back().error().code() == code;
  };
  REQUIRE(run_until([&] { return heard.size() > 1; }));
  CHECK(hears(ErrorCode::kBusy));
  // A clock that is ahead, and a host that goes on beating.
  manual.advance(kHeartbeatDuration - std::chrono::seconds(1));
  others = *server.lease;
  others.renewed = manual.wall();
  REQUIRE(server.update(others).ok());
  CHECK(hears(ErrorCode::kBusy));
  manual.advance(kHeartbeatDuration - std::chrono::seconds(1));
  CHECK(hears(ErrorCode::kBusy));
  CHECK(server.lease->holder == "another");
  manual.advance(std::chrono::seconds(2));
  CHECK(run_until([&] { return server.lease->holder == kNode; }));
  CHECK(run_until([&] { return heard.back().ok(); }));
}

TEST_CASE_FIXTURE(Fixture, "a beat that is asked for does not wait for the interval") {
  HeartbeatOptions seldom = options();
  seldom.interval = std::chrono::hours(1);
  std::size_t expected = 2;
  SUBCASE("but comes after the shortest pause") {}
  SUBCASE("and no sooner") {
    seldom.shortest = std::chrono::hours(1);
    expected = 1;
  }
  Heartbeat slow(api, manual, log, seldom, [this] { return report; });
  tasks.spawn(slow.run());
  REQUIRE(beats(1));
  settle();
  slow.beat_soon();
  CHECK(beats(expected));
  settle();
  CHECK(http.seen.size() == expected);
}

TEST_CASE_FIXTURE(Fixture, "a Lease at an older version than before says that all was put back") {
  int times = 0;
  heartbeat.on_put_back([&] { ++times; });
  tasks.spawn(heartbeat.run());
  REQUIRE(beats(3));
  const auto before = server.lease;
  REQUIRE(beats(6));
  CHECK(times == 0);
  SUBCASE("to an earlier beat") { server.lease = before; }
  SUBCASE("to before the first one") {
    server = LeaseServer();
    server.lease.reset();
  }
  CHECK(run_until([&] { return times == 1; }));
  const std::size_t seen = http.seen.size();
  REQUIRE(beats(seen + 3));
  CHECK(times == 1);
}

TEST_CASE_FIXTURE(Fixture, "a Lease that somebody deleted is made anew, and that is all") {
  int times = 0;
  heartbeat.on_put_back([&] { ++times; });
  tasks.spawn(heartbeat.run());
  REQUIRE(beats(3));
  server.lease.reset();
  CHECK(run_until([&] { return server.lease.has_value(); }));
  const std::size_t seen = http.seen.size();
  REQUIRE(beats(seen + 3));
  CHECK(times == 0);
}

TEST_CASE_FIXTURE(Fixture, "an API server that is away is told of once, and then it goes on") {
  reachable = false;
  tasks.spawn(heartbeat.run());
  REQUIRE(beats(5));
  CHECK(log.lines.size() == 1);
  reachable = true;
  CHECK(run_until([&] { return server.lease.has_value(); }));
}

TEST_CASE("the report has each pool's room less what is promised, and the first trouble") {
  NodeLab lab;
  NodeState state;
  CHECK(report_of(state, lab.config, lab.ledger, lab.budget).trouble ==
        "the disks have not been looked at yet");
  REQUIRE(lab.wait_for(lab.ledger.refresh(true)).ok());
  state.tidied = Status();
  lab.ledger.see_record(engine::promised_record(sample_spec(), kUid));
  const NodeReport report = report_of(state, lab.config, lab.ledger, lab.budget);
  CHECK(report.trouble.empty());
  CHECK(report.pools.at("default").at("lvm").size == kGiB + kGiB);
  CHECK(report.pools.at("default").at("lvm").free == kGiB);
  lab.config.pools["other"].volume_group = "nowhere";
  CHECK(report_of(state, lab.config, lab.ledger, lab.budget).trouble.find("nowhere") !=
        std::string::npos);
}

TEST_CASE("a beat between a removal and the next look tells the room of the last one") {
  NodeLab lab;
  NodeState state;
  state.tidied = Status();
  REQUIRE(lab.wait_for(lab.ledger.refresh(true)).ok());
  lab.ledger.forget();
  lab.ledger.reserve("shop/data", sample_spec());
  const NodeReport report = report_of(state, lab.config, lab.ledger, lab.budget);
  CHECK(report.trouble.empty());
  REQUIRE(report.pools.contains("default"));
  CHECK(report.pools.at("default").at("lvm").free == kGiB + kGiB - sample_spec().size);
}

}  // namespace flexlocal::provisioner::test
