// Candidates in a world where everything goes wrong, on the rules of election.cc alone.
#include <doctest/doctest.h>

#include <memory>

#include "provisioner/kube/election.h"
#include "test/unit/kube/lease_server.h"

namespace flexlocal::kube::test {
namespace {

using Kind = Election::Step::Kind;
using Instant = Clock::Instant;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Instant kStart{std::chrono::hours(1)};

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
    ElectionOptions options;
    options.identity = concat("p", identities);
    options.seed = static_cast<std::uint64_t>(identities);
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
