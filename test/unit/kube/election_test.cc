#include "provisioner/kube/election.h"

#include <doctest/doctest.h>

#include "test/unit/kube/lease_server.h"

namespace flexlocal::kube::test {
namespace {

using Kind = Election::Step::Kind;
using Instant = Clock::Instant;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Clock::Wall kWall{seconds(1'700'000'000)};
const Instant kStart{std::chrono::hours(1)};

ElectionOptions options_of(const std::string& identity) {
  ElectionOptions options;
  options.identity = identity;
  options.seed = 1;
  return options;
}

// A candidate whose every request is answered at once.
struct Candidate {
  Election election;
  LeaseServer& server;
  Instant now = kStart;
  Clock::Wall wall = kWall;

  Candidate(const std::string& identity, LeaseServer& on)
      : election(options_of(identity)), server(on) {}

  // One step; a wait is waited for.
  Kind step() {
    const auto step = election.next(now, wall);
    if (step.kind == Kind::kWait) now = step.until;
    if (step.kind == Kind::kRead) {
      const auto answer = server.read();
      if (answer)
        election.read(*answer, now);
      else
        election.missing();
    }
    if (step.kind == Kind::kCreate || step.kind == Kind::kUpdate) {
      const auto answer =
          step.kind == Kind::kCreate ? server.create(step.lease) : server.update(step.lease);
      if (answer)
        election.written(*answer, now);
      else
        election.failed(answer.error(), now);
    }
    return step.kind;
  }
  bool leads() const { return election.leads(now); }
  bool lead() {
    for (int i = 0; i < 100 && !leads(); ++i) step();
    return leads();
  }
  // Everything for so long; the server sees nothing later than this.
  void run_for(seconds time) {
    const Instant end = now + time;
    while (now < end) step();
  }
};

}  // namespace

TEST_CASE("where there is no Lease the first candidate makes it and leads for the renew deadline") {
  LeaseServer server;
  Candidate a("a", server);
  CHECK(a.step() == Kind::kRead);
  CHECK_FALSE(a.leads());
  CHECK(a.step() == Kind::kCreate);
  CHECK(a.leads());
  CHECK(a.election.leads_until() == kStart + seconds(10));
  CHECK(server.lease->holder == "a");
  CHECK(server.lease->duration == seconds(15));
  CHECK(server.lease->acquired == kWall);
}

TEST_CASE("a leader renews with one request every retry period, without reading first") {
  LeaseServer server;
  Candidate a("a", server);
  REQUIRE(a.lead());
  CHECK(a.step() == Kind::kWait);
  CHECK(a.now == kStart + seconds(2));
  CHECK(a.step() == Kind::kUpdate);
  CHECK(a.election.leads_until() == kStart + seconds(12));
  CHECK(a.step() == Kind::kWait);
  CHECK(a.step() == Kind::kUpdate);
  CHECK(server.lease->transitions == 0);
}

TEST_CASE("a held Lease is left alone until it did not change for its whole duration") {
  LeaseServer server;
  Candidate a("a", server);
  Candidate b("b", server);
  REQUIRE(a.lead());
  REQUIRE(b.step() == Kind::kRead);
  while (b.now < kStart + seconds(15)) {
    CHECK_FALSE(b.leads());
    b.step();
  }
  CHECK(b.lead());
  CHECK(b.now < kStart + seconds(15 + 4 + 4));
  CHECK(server.lease->holder == "b");
  CHECK(server.lease->transitions == 1);
  CHECK_FALSE(a.election.leads(b.now));
}

TEST_CASE("a Lease that says a longer duration is waited for as long") {
  LeaseServer server;
  Candidate a("a", server);
  REQUIRE(a.lead());
  server.lease->duration = seconds(60);
  Candidate b("b", server);
  b.run_for(seconds(59));
  CHECK_FALSE(b.leads());
  CHECK(b.lead());
}

TEST_CASE("a term whose Lease is at an older version than before ends: what it knew is gone") {
  LeaseServer server;
  Candidate a("a", server);
  REQUIRE(a.lead());
  const auto before = server.lease;
  a.run_for(seconds(5));
  CHECK_FALSE(a.election.take_put_back());
  server.lease = before;
  int steps = 0;
  while (a.leads() && steps < 10) {
    a.step();
    ++steps;
  }
  CHECK_FALSE(a.leads());
  CHECK(a.election.take_put_back());
  CHECK_FALSE(a.election.take_put_back());
  CHECK(a.lead());
  CHECK_FALSE(a.election.take_put_back());
}

TEST_CASE("a candidate that waits sees it as well, and a Lease that was made anew is none") {
  LeaseServer server;
  Candidate a("a", server);
  Candidate b("b", server);
  REQUIRE(a.lead());
  b.step();
  const auto before = server.lease;
  a.run_for(seconds(5));
  b.run_for(seconds(3));
  CHECK_FALSE(b.election.take_put_back());
  server.lease.reset();
  REQUIRE(a.lead());
  a.run_for(seconds(5));
  b.run_for(seconds(3));
  CHECK_FALSE(a.election.take_put_back());
  CHECK_FALSE(b.election.take_put_back());
  server.lease = before;
  b.run_for(seconds(5));
  CHECK(b.election.take_put_back());
}

TEST_CASE("times of day decide nothing: neither an old Lease nor one of the future") {
  for (const int hours : {-48, 48}) {
    LeaseServer server;
    Candidate a("a", server);
    a.wall += std::chrono::hours(hours);
    REQUIRE(a.lead());
    Candidate b("b", server);
    b.run_for(seconds(14));
    CHECK_FALSE(b.leads());
    CHECK(b.lead());
  }
}

TEST_CASE("a leader whose clock stands still is still seen to renew") {
  LeaseServer server;
  Candidate a("a", server);
  Candidate b("b", server);
  REQUIRE(a.lead());
  for (int second = 0; second < 60; second += 3) {
    a.now = b.now = kStart + seconds(second);
    a.step();
    a.step();
    b.step();
    b.step();
    CHECK_FALSE(b.leads());
  }
  CHECK(server.lease->holder == "a");
}

TEST_CASE("a released Lease is taken at once") {
  LeaseServer server;
  Candidate a("a", server);
  REQUIRE(a.lead());
  const auto released = a.election.release(a.now, a.wall);
  REQUIRE(released.has_value());
  CHECK_FALSE(a.leads());
  REQUIRE(server.update(*released).ok());
  Candidate b("b", server);
  CHECK(b.step() == Kind::kRead);
  CHECK(b.step() == Kind::kUpdate);
  CHECK(b.leads());
  CHECK_FALSE(b.election.release(b.now, b.wall)->holder == "b");
}

TEST_CASE("what is not known to be ours is not released") {
  LeaseServer server;
  Candidate a("a", server);
  CHECK_FALSE(a.election.release(a.now, a.wall).has_value());
  REQUIRE(a.lead());
  a.election.failed(Error(ErrorCode::kDeadline, "no answer"), a.now);
  CHECK_FALSE(a.election.release(a.now, a.wall).has_value());
}

TEST_CASE("a leader that finds another's name in the Lease leads no longer") {
  LeaseServer server;
  Candidate a("a", server);
  REQUIRE(a.lead());
  Lease stolen = *server.lease;
  stolen.holder = "b";
  REQUIRE(server.update(stolen).ok());
  CHECK(a.step() == Kind::kWait);
  CHECK(a.step() == Kind::kUpdate);  // a conflict
  CHECK(a.leads());
  CHECK(a.step() == Kind::kWait);
  CHECK(a.step() == Kind::kRead);
  CHECK_FALSE(a.leads());
  CHECK(a.election.holder() == "b");
}

TEST_CASE("a renewal that is answered after the term has ended does not bring it back") {
  LeaseServer server;
  Candidate a("a", server);
  REQUIRE(a.lead());
  a.step();
  const auto renewal = a.election.next(a.now, a.wall);
  REQUIRE(renewal.kind == Kind::kUpdate);
  const auto answer = server.update(renewal.lease);
  a.now += seconds(9);  // eleven since the last renewal began
  CHECK_FALSE(a.leads());
  a.election.written(*answer, a.now);
  CHECK_FALSE(a.leads());
  CHECK(a.lead());  // by a term of its own
}

TEST_CASE("the term counts from before the request, not from its answer") {
  LeaseServer server;
  Candidate a("a", server);
  a.step();
  const auto create = a.election.next(a.now, a.wall);
  const auto answer = server.create(create.lease);
  a.now += seconds(4);
  a.election.written(*answer, a.now);
  CHECK(a.election.leads_until() == kStart + seconds(10));
}

TEST_CASE("without answers a leader tries again and ends at the deadline") {
  LeaseServer server;
  Candidate a("a", server);
  REQUIRE(a.lead());
  int tries = 0;
  while (a.leads()) {
    const auto step = a.election.next(a.now, a.wall);
    if (step.kind == Kind::kWait) {
      a.now = step.until;
      continue;
    }
    ++tries;
    a.election.failed(Error(ErrorCode::kUnavailable, "no server"), a.now);
  }
  CHECK(tries == 4);
  CHECK(a.now == kStart + seconds(10));
}

TEST_CASE("a Lease deleted under its leader is made again by it, not taken by who saw it held") {
  LeaseServer server;
  Candidate a("a", server);
  Candidate b("b", server);
  REQUIRE(a.lead());
  REQUIRE(b.step() == Kind::kRead);
  server.lease.reset();
  b.run_for(seconds(14));
  CHECK_FALSE(b.leads());
  CHECK_FALSE(server.lease.has_value());
  CHECK(a.step() == Kind::kWait);
  for (int i = 0; i < 4 && !server.lease; ++i) a.step();
  REQUIRE(server.lease.has_value());
  CHECK(server.lease->holder == "a");
  CHECK(a.leads());
}

TEST_CASE("options that would let two lead, or none, are refused") {
  CHECK(validate({}).ok());
  CHECK_FALSE(validate({.identity = {}, .lease_duration = seconds(10)}).ok());
  CHECK_FALSE(validate({.identity = {}, .renew_deadline = milliseconds(2400)}).ok());
  CHECK_FALSE(validate({.identity = {},
                        .lease_duration = milliseconds(999),
                        .renew_deadline = milliseconds(500),
                        .retry_period = milliseconds(100)})
                  .ok());
  CHECK_FALSE(validate({.identity = {}, .lease_duration = seconds(3601)}).ok());
}

}  // namespace flexlocal::kube::test
