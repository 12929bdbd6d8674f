#include "provisioner/kube/leader_elector.h"

#include "test/unit/kube/lab.h"
#include "test/unit/kube/lease_server.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Runs as the machine's does, and can jump ahead, as after a sleep.
class SkippingClock final : public Clock {
 public:
  Instant now() const override { return std::chrono::steady_clock::now() + skipped; }
  Wall wall() const override { return std::chrono::system_clock::now(); }
  std::chrono::nanoseconds skipped{0};
};

// Writes something through the gate again and again.
class Writer final : public LeaderWork {
 public:
  explicit Writer(ApiClient& api) : api_(api) {}

  Task<void> lead() override {
    ++terms;
    ended_by.clear();
    asked_ = false;
    while (!asked_) {
      const std::string path = "/write";
      const std::string body = "{}";
      const auto answer = co_await api_.merge_patch(path, body);
      if (answer)
        ++writes;
      else
        ++refused;
      const Status slept = co_await sleep_for(milliseconds(1));
      if (!slept) break;
    }
    ended_by = asked_ ? "stop" : "loss";
  }
  void stop() override { asked_ = true; }
  void put_back() override { ++times_put_back; }

  int terms = 0;
  int times_put_back = 0;
  int writes = 0;
  int refused = 0;
  std::string ended_by;

 private:
  ApiClient& api_;
  bool asked_ = false;
};

struct Stand {
  Stand(Lab& lab, Http& server, const std::string& identity)
      : gate(server, clock),
        lease_api(server, lab.clock, ApiOptions{.limit = {}}),
        gated_api(gate, lab.clock, ApiOptions{.limit = {}}),
        lease(lease_api, "ns", "leader"),
        work(gated_api),
        elector(lab.io, lease, clock, lab.log, options(identity), gate, work) {}

  static ElectionOptions options(const std::string& identity) {
    ElectionOptions options;
    options.identity = identity;
    options.lease_duration = milliseconds(1500);
    options.renew_deadline = milliseconds(1000);
    options.retry_period = milliseconds(10);
    options.seed = 1;
    return options;
  }

  static Task<void> run(LeaderElector& elector, bool& ended) {
    co_await elector.run();
    ended = true;
  }

  SkippingClock clock;
  LeaderGate gate;
  ApiClient lease_api;
  ApiClient gated_api;
  LeaseClient lease;
  Writer work;
  LeaderElector elector;
  bool ended = false;
};

struct Fixture : Lab {
  LeaseServer server;
  FakeHttp http;
  bool reachable = true;
  Stand first{*this, http, "first"};
  Stand second{*this, http, "second"};

  Fixture() {
    http.answer = [this](const HttpRequest& request) -> Result<HttpResponse> {
      if (!reachable) return Error(ErrorCode::kUnavailable, "no server");
      return server.answer(request);
    };
  }
  ~Fixture() {
    reachable = true;
    stop(first);
    stop(second);
  }
  void start(Stand& stand) { tasks.spawn(Stand::run(stand.elector, stand.ended)); }
  void stop(Stand& stand) {
    stand.elector.stop();
    run_until([&] { return stand.ended || tasks.running() == 0; });
  }
  std::string holder() const { return server.lease ? server.lease->holder : std::string(); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the elected one works, and gives the Lease back when it is to end") {
  start(first);
  REQUIRE(run_until([&] { return first.work.writes > 2; }));
  CHECK(first.elector.leads());
  CHECK(holder() == "first");
  stop(first);
  CHECK(first.ended);
  CHECK(first.work.ended_by == "stop");
  CHECK(holder().empty());
  CHECK_FALSE(first.gate.is_open());
  CHECK(first.work.refused == 0);
}

TEST_CASE_FIXTURE(Fixture, "the second waits, and leads as soon as the first has given back") {
  start(first);
  REQUIRE(run_until([&] { return first.elector.leads(); }));
  start(second);
  REQUIRE(run_until([&] { return log.has("another leads"); }));
  CHECK(second.work.terms == 0);
  stop(first);
  CHECK(run_until([&] { return second.work.writes > 0; }));
  CHECK(holder() == "second");
}

TEST_CASE_FIXTURE(Fixture, "without an answer to its renewals a leader stops, and stands again") {
  start(first);
  REQUIRE(run_until([&] { return first.work.writes > 0; }));
  reachable = false;
  REQUIRE(run_until([&] { return first.work.ended_by == "loss"; }));
  CHECK(run_until([&] { return log.has("no longer leading"); }));
  CHECK_FALSE(first.gate.is_open());
  reachable = true;
  CHECK(run_until([&] { return first.work.terms == 2; }));
}

TEST_CASE_FIXTURE(Fixture, "when the API server was put back, the term ends and a new one begins") {
  start(first);
  REQUIRE(run_until([&] { return server.lease.has_value(); }));
  const auto before = server.lease;
  REQUIRE(run_until([&] { return server.lease->resource_version != before->resource_version; }));
  CHECK(first.work.times_put_back == 0);
  server.lease = before;
  CHECK(run_until([&] { return first.work.terms == 2; }));
  CHECK(first.work.times_put_back == 1);
  CHECK(log.has("put back to an earlier state"));
  const int writes = first.work.writes;
  CHECK(run_until([&] { return first.work.writes > writes; }));
}

TEST_CASE_FIXTURE(Fixture, "after a sleep of the machine nothing of the old leader's is sent") {
  start(first);
  REQUIRE(run_until([&] { return first.work.writes > 0; }));
  reachable = false;  // so that it cannot be elected again at once
  first.clock.skipped = seconds(20);
  const std::size_t before = http.seen.size();
  REQUIRE(run_until([&] { return first.work.ended_by == "loss"; }));
  for (std::size_t i = before; i < http.seen.size(); ++i)
    CHECK(http.seen[i].target.find("/leases") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a write is not waited for longer than the leader leads") {
  first.gate.open_until(first.clock.now() + seconds(20));
  const std::string path = "/write";
  const std::string body = "{}";
  CHECK(wait_for(first.gated_api.merge_patch(path, body)).ok());
  CHECK(http.seen.back().deadline <= seconds(20));
  CHECK(wait_for(first.gated_api.get(path)).ok());
  CHECK(http.seen.back().deadline == seconds(30));
  first.gate.shut();
  CHECK(wait_for(first.gated_api.get(path)).error().code() == ErrorCode::kCancelled);
}

TEST_CASE_FIXTURE(Fixture, "told to stop before it is elected, it ends at once") {
  start(first);
  REQUIRE(run_until([&] { return first.elector.leads(); }));
  start(second);
  REQUIRE(run_until([&] { return log.has("another leads"); }));
  stop(second);
  CHECK(second.ended);
  CHECK(holder() == "first");
}

}  // namespace flexlocal::kube::test
