#include "provisioner/kube/election.h"

#include <doctest/doctest.h>

#include <memory>

#include "test/unit/kube/lease_server.h"

namespace flexlocal::kube::test {
namespace {

using Kind = Election::Step::Kind;
using Instant = Clock::Instant;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Clock::Wall kWall{seconds(1'700'000'000)};
const Instant kStart{std::chrono::hours(1)};

ElectionOptions options_of(const std::string& identity, std::uint64_t seed = 1) {
  ElectionOptions options;
  options.identity = identity;
  options.seed = seed;
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

namespace {

// One process of the simulation. Its clock runs a little fast or slow and began anywhere; its time
// of day is wrong, stands still or jumps. Requests are late, lost, or carried out without an
// answer.
struct Process {
  std::unique_ptr<Election> election;
  double rate = 1;
  seconds offset{0};
  Clock::Wall wall_offset{};
  bool stands_still = false;  // its time of day
  milliseconds paused_until{0};
  std::optional<Election::Step> asked;
  milliseconds arrives{0};
  milliseconds answered{0};
  bool request_lost = false;
  bool answer_lost = false;
  std::optional<Result<Lease>> answer;

  Instant clock(milliseconds real) const {
    const auto passed = std::chrono::duration<double, std::milli>(real) * rate;
    return kStart + offset + std::chrono::duration_cast<std::chrono::nanoseconds>(passed);
  }
  bool leads(milliseconds real) const { return election->leads(clock(real)); }
};

struct Simulation {
  explicit Simulation(std::uint64_t seed) : random(seed) {
    for (Process& process : processes) begin(process);
  }

  Random random;
  LeaseServer server;
  std::vector<Process> processes{3};
  milliseconds real{0};
  int identities = 0;
  int terms = 0;
  const Process* leader = nullptr;
  bool calm = false;

  bool chance(double of) { return random.unit() < of; }
  milliseconds up_to(int most) { return milliseconds(static_cast<int>(random.unit() * most)); }

  void begin(Process& process) {
    process = Process{};
    ++identities;
    ElectionOptions options =
        options_of(concat("p", identities), static_cast<std::uint64_t>(identities));
    options.retry_period = milliseconds(100) + up_to(1'900);
    process.election = std::make_unique<Election>(options);
    process.stands_still = chance(0.3);
    process.rate = 0.85 + random.unit() * 0.3;
    process.offset = seconds(up_to(100'000).count());
  }

  Result<Lease> serve(const Election::Step& step) {
    if (step.kind == Kind::kRead) return server.read();
    return step.kind == Kind::kCreate ? server.create(step.lease) : server.update(step.lease);
  }

  void ask(Process& process, const Election::Step& step) {
    process.asked = step;
    process.answer.reset();
    const bool slow = !calm && chance(0.1);
    process.arrives = real + up_to(slow ? 20'000 : 300);
    process.answered = process.arrives + up_to(slow ? 8'000 : 300);
    process.request_lost = !calm && chance(0.05);
    process.answer_lost = !calm && chance(0.05);
  }

  // What the server carries out, it carries out whether or not somebody waits for it.
  void serve_due() {
    for (Process& process : processes) {
      if (!process.asked || process.answer || process.request_lost) continue;
      if (process.arrives <= real) process.answer = serve(*process.asked);
    }
  }

  void take_answer(Process& process) {
    const Instant now = process.clock(real);
    if (process.answer && !process.answer_lost && process.answered <= real) {
      const Result<Lease>& answer = *process.answer;
      if (!answer && answer.error().code() == ErrorCode::kNotFound &&
          process.asked->kind == Kind::kRead)
        process.election->missing();
      else if (!answer)
        process.election->failed(answer.error(), now);
      else if (process.asked->kind == Kind::kRead)
        process.election->read(*answer, now);
      else
        process.election->written(*answer, now);
      process.asked.reset();
    } else if (process.answered + milliseconds(100) < real) {
      process.election->failed(Error(ErrorCode::kDeadline, "no answer"), now);
      process.asked.reset();
    }
  }

  void run(Process& process) {
    if (!calm && chance(0.0005)) return begin(process);  // killed, and started anew
    if (real < process.paused_until) return;
    if (!calm && chance(0.001)) process.paused_until = real + up_to(40'000);
    if (chance(0.002)) process.wall_offset = Clock::Wall(up_to(1'000'000'000));
    if (process.asked) take_answer(process);
    if (process.asked) return;
    const auto wall = process.wall_offset + (process.stands_still ? milliseconds(0) : real);
    const auto step = process.election->next(process.clock(real), wall);
    if (step.kind != Kind::kWait) ask(process, step);
  }

  // Whether at most one leads.
  bool tick() {
    serve_due();
    for (Process& process : processes) run(process);
    int leading = 0;
    for (const Process& process : processes) {
      if (!process.leads(real)) continue;
      ++leading;
      if (leader != &process) ++terms;
      leader = &process;
    }
    real += milliseconds(50);
    return leading <= 1;
  }
};

}  // namespace

TEST_CASE("whatever is paused, late, lost, killed or wrong by the clock: never do two lead") {
  int terms = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    Simulation simulation(seed);
    while (simulation.real < std::chrono::minutes(10)) {
      CAPTURE(simulation.real.count());
      REQUIRE(simulation.tick());
    }
    terms += simulation.terms;
    simulation.calm = true;
    while (simulation.real < std::chrono::minutes(12)) REQUIRE(simulation.tick());
    bool somebody = false;
    for (const Process& process : simulation.processes)
      somebody = somebody || process.leads(simulation.real);
    CHECK(somebody);
  }
  CHECK(terms > 500);
}

}  // namespace flexlocal::kube::test
