#include "provisioner/agent/agent_role.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"
#include "test/unit/agent/copy_server.h"
#include "test/unit/agent/fake_storage.h"
#include "test/unit/kube/byte_sink.h"
#include "test/unit/kube/lab.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

using kube::HttpRequest;
using kube::HttpResponse;

// An API server without streaming lists; its watches bring nothing and never end.
struct Server final : kube::Http {
  CopyServer copies;
  bool denied = false;  // the list is refused
  std::string node;     // nothing: there is none
  kube::Condition never;
  std::vector<std::string> lists;

  explicit Server(std::vector<std::string>& journal) : copies(journal) {}

  static std::string list_of(const std::string& object) {
    return concat(R"({"metadata":{"resourceVersion":"1"},"items":[)", object, "]}");
  }

  kube::Task<Result<HttpResponse>> send(const HttpRequest& request) override {
    if (request.target.find("/api/v1/nodes") != std::string::npos)
      co_return HttpResponse{
          .status = node.empty() ? 404 : 200, .body = list_of(node), .retry_after = {}};
    if (request.target.find(copies_path() + '?') != 0) co_return copies.answer(request);
    lists.push_back(request.target);
    if (denied) co_return HttpResponse{.status = 403, .body = "{}", .retry_after = {}};
    co_return HttpResponse{.status = 200, .body = copies.list(), .retry_after = {}};
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
  Server server{journal};
  kube::ApiClient api{server, clock, kube::ApiOptions{.limit = {}}};
  engine::NodeConfig config;
  std::unique_ptr<AgentRole> role;
  std::chrono::seconds tidy_interval{60};
  std::optional<Status> beaten = Status();  // how the first beat for the Node ended
  bool ended = false;
  int news = 0;  // times that somebody waited for what is reported

  Fixture() { config.pools["default"].volume_group = "vg"; }
  ~Fixture() {
    stop();  // before the role goes: its tasks refer to it
  }

  static kube::Task<void> run(AgentRole& role, bool& ended) {
    co_await role.run();
    ended = true;
  }
  void start() {
    ended = false;
    AgentOptions options;
    options.retry = {std::chrono::milliseconds(1), std::chrono::milliseconds(5)};
    options.disks.tidy = tidy_interval;
    options.disks.unsettled =
        std::min<std::chrono::milliseconds>(tidy_interval, std::chrono::minutes(1));
    options.disks.changed = std::chrono::milliseconds(0);
    options.disks.gather = std::chrono::milliseconds(0);
    options.disks.changed = options.disks.gather = std::chrono::milliseconds(0);
    options.disks.limits = std::chrono::milliseconds(1);
    options.disks.resume = std::chrono::milliseconds(1);
    role = std::make_unique<AgentRole>(io, api, storage, config, clock, log,
                                       Membership{kNodeIdentity, kCluster, kMuchMemory}, "host",
                                       options);
    role->on_news([this] {
      ++news;
      role->report();  // as a beat does
    });
    tasks.spawn(run(*role, ended));
    if (beaten) role->heard(*beaten);
  }
  bool stop() {
    if (role && !ended) role->stop();
    storage.go.notify_all();
    return !role || run_until([this] { return ended; });
  }
  // A growth for which there is no room; the size that is ordered.
  Bytes order_too_much(const std::string& name) {
    CopyOrder grown = *server.copies.copy(name).order;
    grown.volume.size += storage.free() + Bytes(100 * kMiB.count());
    server.copies.order(grown);
    return grown.volume.size;
  }
  static std::string copy_id(int number) { return concat("0123456789abcde", number); }
  // Orders of as many volumes, for six of which there is room.
  std::vector<std::string> give(int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      const std::string uid = concat("0b1c2d3e-0000-4000-8000-0000000000", 10 + i);
      CopyOrder order = sample_order(sample_spec(uid, Bytes(300 * kMiB.count())));
      order.volume.copy = copy_id(i);
      server.copies.order(order);
      names.push_back(copy_name(order));
    }
    return names;
  }
  bool are(CopyState state, const std::vector<std::string>& names) const {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return server.copies.copy(name).status.state == state;
    });
  }
  bool did(const std::string& call) const {
    return std::find(journal.begin(), journal.end(), call) != journal.end();
  }
  void start_with(const std::vector<std::string>& names) {
    start();
    REQUIRE(run_until([&] { return are(CopyState::kReady, names); }));
  }
  // How long it would have waited from one look at the disks to the next.
  std::chrono::nanoseconds between_looks() {
    role->report();  // as each beat does
    storage.changes.hurries = true;
    storage.changes.change();
    auto looks = whole_looks();
    REQUIRE(run_until([&] { return whole_looks() > looks; }));
    looks = whole_looks();
    storage.changes.waited = {};
    std::chrono::nanoseconds waited{};
    REQUIRE(run_until([&] {
      if (whole_looks() == looks) waited = storage.changes.waited;
      return whole_looks() > looks;
    }));
    return waited;
  }
  std::ptrdiff_t whole_looks() const {
    return std::count(journal.begin(), journal.end(), "settle");
  }
  std::string words() const {
    const Status ready = role->readiness();
    return ready ? "ready" : ready.error().message();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "nothing is worked on before the disks were tidied once, and then all") {
  const auto names = give(5);
  storage.hold_look = true;
  start();
  REQUIRE(run_until([&] { return !server.lists.empty() && storage.looks == 1; }));
  settle();
  CHECK(journal.empty());
  storage.go.notify_all();
  CHECK(run_until([&] { return are(CopyState::kReady, names); }));
  REQUIRE_FALSE(journal.empty());
  CHECK(journal.front() == "settle");
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture,
                  "nothing is worked on before this host has beaten for the Node, and then all") {
  const auto names = give(2);
  SUBCASE("no beat yet") { beaten.reset(); }
  SUBCASE("another host beats") { beaten = Error(ErrorCode::kBusy, "another host beats"); }
  SUBCASE("the beat failed") { beaten = Error(ErrorCode::kUnavailable, "no answer"); }
  start();
  REQUIRE(run_until([&] { return words() != "the list of volumecopies is not complete yet"; }));
  REQUIRE(run_until([&] { return did("settle"); }));
  settle();
  CHECK(journal.size() == 1);
  CHECK_FALSE(role->readiness());
  role->heard(Status());
  CHECK(run_until([&] { return are(CopyState::kReady, names); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "while another host beats for the Node nothing is begun") {
  start_with(give(1));
  REQUIRE(run_until([&] { return words() == "ready"; }));
  role->heard(Error(ErrorCode::kUnavailable, "no answer"));
  CHECK(words() == "ready");
  role->heard(Error(ErrorCode::kBusy, "another host beats"));
  CHECK(words() == "another host beats");
  role->heard(Error(ErrorCode::kUnavailable, "no answer"));
  CHECK(words() == "another host beats");
  role->heard(Status());
  CHECK(words() == "ready");
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "orders are carried out although the disks could not all be tidied") {
  const auto names = give(2);
  storage.settle_status = Error(ErrorCode::kFailed, "lvchange failed");
  start();
  CHECK(run_until([&] { return are(CopyState::kReady, names); }));
  CHECK(log.has("records and tags could not be brought together"));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture,
                  "the agent lists its own node's orders alone, from the API server's cache") {
  start();
  REQUIRE(run_until([&] { return !server.lists.empty(); }));
  CHECK(server.lists.front().find("labelSelector=flexlocal.io%2Fnode%3Dnode-a") !=
        std::string::npos);
  CHECK(server.lists.front().find("resourceVersion=0") != std::string::npos);
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "all copies are looked at again after each tidying") {
  const auto names = give(2);
  tidy_interval = std::chrono::seconds(0);
  start_with(names);
  storage.present.volumes.clear();
  CHECK(run_until([&] { return are(CopyState::kLost, names); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a failure is told with its copy, and tried again until it succeeds") {
  const auto names = give(1);
  storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
  start();
  REQUIRE(run_until([&] { return log.has("will be tried again"); }));
  CHECK(log.has("copy=" + names.front()));
  CHECK(log.has("lvcreate did not end"));
  storage.make_status = Status();
  CHECK(run_until([&] { return are(CopyState::kReady, names); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a wipe goes on slice by slice") {
  const auto names = give(1);
  start_with(names);
  CHECK(stop());
  CopyOrder order = *server.copies.copy(names.front()).order;
  order.desired = DesiredState::kRemoved;
  server.copies.order(order);
  storage.slices = {{.done = false, .wiped = kMiB, .size = kGiB},
                    {.done = false, .wiped = kMiB, .size = kGiB}};
  start();
  CHECK(run_until([&] { return are(CopyState::kRemoved, names); }));
  // Beside the two starts, after which the disks can be used.
  CHECK(run_until([&] { return news > 2; }));
  CHECK(stop());
  CHECK(news == 3);
}

// Not only when the disks are looked at again, which takes a minute.
TEST_CASE_FIXTURE(Fixture, "a growth that lacked room is tried again once something is removed") {
  const auto names = give(2);
  start_with(names);
  CHECK(stop());
  const Bytes grown = order_too_much(names.front());
  CopyOrder removed = *server.copies.copy(names.back()).order;
  removed.desired = DesiredState::kRemoved;
  server.copies.order(removed);
  storage.slices = {{.done = false, .wiped = kMiB, .size = kGiB}};
  start();
  CHECK(run_until([&] { return server.copies.copy(names.front()).status.size == grown; }));
  const auto refusal = std::string("PATCH Ready");
  CHECK(std::count(journal.begin(), journal.end(), refusal) > 2);
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "where all copies are as ordered the disks are left alone") {
  tidy_interval = std::chrono::minutes(5);
  const auto names = give(2);
  start_with(names);
  CHECK(between_looks() >= std::chrono::seconds(270));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "what no event ends is looked for each minute") {
  tidy_interval = std::chrono::minutes(5);
  const auto names = give(2);
  SUBCASE("a volume that is not to be seen") {
    start_with(names);
    storage.present.volumes.clear();
    storage.changes.change();
    REQUIRE(run_until([&] { return are(CopyState::kLost, names); }));
  }
  SUBCASE("a growth for which there is no room") {
    start_with(names);
    CHECK(stop());
    order_too_much(names.front());
    start();
    REQUIRE(run_until([&] { return did("PATCH Ready"); }));
  }
  SUBCASE("a pool that is not to be seen") {
    config.pools["other"].volume_group = "gone";
    start_with(names);
    REQUIRE_FALSE(role->report().trouble.empty());
  }
  CHECK(between_looks() == std::chrono::seconds(60));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "that the node's memory has changed is told at once") {
  server.node = R"({"metadata":{"name":"node-a"},"status":{"capacity":{"memory":"1Gi"}}})";
  start();
  // Beside that the disks can be used.
  CHECK(run_until([&] { return news == 2; }));
  CHECK(role->report().budget->memory == kGiB);
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "readiness says what is missing") {
  server.denied = true;
  storage.hold_look = true;
  start();
  REQUIRE(run_until([&] { return log.has("list failed") && storage.looks == 1; }));
  CHECK(words() == "the list of volumecopies is not complete yet");
  server.denied = false;
  CHECK(run_until([&] { return words() == "this node's disks have not been looked at yet"; }));
  storage.go.notify_all();
  CHECK(run_until([&] { return words() == "ready"; }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a look at the disks that failed is why the agent is not ready") {
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs failed");
  tidy_interval = std::chrono::seconds(0);
  start();
  CHECK(run_until(
      [&] { return words() == "the last look at this node's disks failed: vgs failed"; }));
  // Who waits for the node hears of the end of it at once.
  news = 0;
  storage.inventory_status = Status();
  CHECK(run_until([&] { return words() == "ready"; }));
  CHECK(run_until([&] { return news == 1; }));
  CHECK(role->report().trouble.empty());
  // And of the next, once for as long as it lasts.
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs failed");
  const int looks = storage.looks;
  CHECK(run_until([&] { return storage.looks > looks + 3; }));
  CHECK(news == 2);
  CHECK(role->report().trouble == "vgs failed");
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "the roll names what no order does, and which orders were seen") {
  const auto names = give(2);
  engine::VolumeSpec lost = sample_spec(kOtherUid);
  lost.copy = "fedcba9876543210";
  storage.present.records.emplace(lost.name.text(),
                                  engine::promised_record(lost, lost.name.claim_uid()));
  start_with(names);
  // Each change of the disks makes the last look out of date.
  const auto roll = role->report().roll;
  REQUIRE(roll);
  CHECK(roll->orders == digest_of(names));
  REQUIRE(roll->told.size() == 1);
  CHECK(roll->told.front().volume.copy == lost.copy);
  CHECK_FALSE(roll->cut);
  CHECK(std::set(roll->counted.begin(), roll->counted.end()) ==
        std::set{copy_id(0), copy_id(1), lost.copy});
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "told to stop, it ends, before it has begun as well") {
  give(5);
  start();
  SUBCASE("before") {}
  SUBCASE("while it works") { settle(); }
  SUBCASE("when all is done") {
    REQUIRE(run_until([&] { return role->readiness().ok(); }));
    settle();
  }
  CHECK(stop());
  CHECK(log.has("stopping: what is begun is finished first"));
}

TEST_CASE_FIXTURE(Fixture, "told to stop, it begins nothing more of what waits") {
  const auto names = give(6);
  storage.hold_look = true;
  start();
  REQUIRE(run_until([&] { return storage.looks == 1 && !server.lists.empty(); }));
  role->stop();
  CHECK(stop());
  CHECK(are(CopyState::kUnsaid, names));
}

}  // namespace flexlocal::provisioner::test
