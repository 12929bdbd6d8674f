// Room is given once: the agent's own tasks, and who else makes volumes on the host, in every order
// of their steps, with the agent killed at any of them.
#include <doctest/doctest.h>

#include <functional>
#include <memory>

#include "flexvolume/base/text.h"
#include "provisioner/agent/copy_hand.h"
#include "test/unit/agent/room/schedule.h"
#include "test/unit/agent/room/stepped_storage.h"
#include "test/unit/kube/lab.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr Bytes mib(std::uint64_t count) { return Bytes(count * kMiB.count()); }
constexpr Bytes kGroup = mib(2200);
constexpr Bytes kMost = mib(1200);  // of which one fits, and no two

// What the agent knows of the disks when it begins.
enum class Knows { kNothing, kAll, kWhatWas };

VolumeCopy ordered(unsigned number, Bytes size) {
  const std::string uid = concat("00000000-0000-4000-8000-00000000000", number);
  const CopyOrder order = sample_order(sample_spec(uid, size));
  return {.name = copy_name(order),
          .uid = "uid",
          .resource_version = "1",
          .generation = 1,
          .order = order,
          .status = {}};
}

std::string volume_of(const VolumeCopy& copy) { return copy.order->volume.name.text(); }

// One run.
struct Run {
  StepHost host{.total = kGroup, .volumes = {}, .wrong = {}};
  kube::test::ManualClock clock;
  kube::test::RecordingLog log;
  engine::NodeConfig config;
  NodeBudget budget{kMuchMemory};
  struct Agent {
    explicit Agent(Run& run)
        : storage(run.host, *run.steps),
          ledger(storage, run.config, run.clock),
          hand(storage, ledger, CopyJudge(ledger, run.budget), true, run.clock, run.log) {}
    SteppedStorage storage;
    Ledger ledger;
    CopyHand hand;
  };
  std::vector<std::unique_ptr<Agent>> agents;  // the killed ones first
  // Ends before what its tasks refer to.
  std::unique_ptr<kube::asio::io_context> io = std::make_unique<kube::asio::io_context>();
  std::unique_ptr<TaskSteps> steps = std::make_unique<TaskSteps>(*io);

  Run() {
    config.pools["default"].volume_group = "vg";
    start_agent();
  }
  ~Run() { io.reset(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void start_agent() { agents.push_back(std::make_unique<Agent>(*this)); }
  Agent& agent() { return *agents.back(); }

  void put(const VolumeCopy& copy, engine::RecordState state) {
    StepHost::Volume& volume = host.volumes[volume_of(copy)];
    volume.record = engine::promised_record(copy.order->volume, copy.order->claim_uid);
    volume.record->state = state;
    if (state == engine::RecordState::kReady) volume.disk = copy.order->volume.size;
  }

  void step(unsigned task) {
    steps->go_on(task);
    if (host.given() > host.total) host.wrong.emplace_back("more is given than there is");
  }
  // A task that nobody else has a step between.
  void alone(Task<void> task) {
    constexpr unsigned kNumber = 99;
    steps->start(kNumber, std::move(task));
    while (steps->waits(kNumber)) step(kNumber);
  }
};

using Work = std::function<Task<void>(Run&)>;

// It begins when it is its turn.
Task<void> begin(Run& run, const Work& work) {
  co_await run.steps->pause();
  co_await work(run);
}

struct Story {
  std::function<void(Run&)> before;  // what is there
  std::vector<Work> agents;          // started again by an agent that was killed
  std::vector<Work> others;          // on the host, which no kill of the agent ends
};

// As CopyWorker does it: what has a record is promised no more.
Work new_volume(const VolumeCopy& copy) {
  return [&copy](Run& run) -> Task<void> {
    StepHost::Volume& volume = run.host.volumes[volume_of(copy)];
    if (!volume.record) {
      const auto promised = co_await run.agent().hand.carry_out(CopyAction::kPromise, copy);
      if (!promised) co_return;
    }
    const auto made = co_await run.agent().hand.carry_out(CopyAction::kMake, copy);
    if (!made) run.host.wrong.push_back(made.error().message());
  };
}

Work change(CopyAction action, const VolumeCopy& copy) {
  return [&copy, action](Run& run) -> Task<void> {
    StepHost::Volume& volume = run.host.volumes[volume_of(copy)];
    if (!volume.record && !volume.disk) co_return;
    const auto refreshed = co_await run.agent().ledger.refresh(false);
    if (!refreshed) co_return;
    const auto done = co_await run.agent().hand.carry_out(action, copy);
    if (!done && !is_refusal(done.error())) run.host.wrong.push_back(done.error().message());
  };
}

Work look() {
  return [](Run& run) -> Task<void> {
    const auto looked = co_await run.agent().ledger.refresh(true);
    if (!looked) run.host.wrong.push_back(looked.error().message());
  };
}

// The plugin, by the record alone.
Work mount(const VolumeCopy& copy) {
  return [&copy](Run& run) -> Task<void> {
    run.host.create(volume_of(copy));
    co_await run.steps->pause();
    run.host.mark_ready(volume_of(copy));
  };
}

void learn(Run& run, Knows knows) {
  if (knows == Knows::kNothing) return;
  run.alone(look()(run));
  if (knows == Knows::kWhatWas) run.clock.advance(std::chrono::seconds(11));
}

// What is left is given, and no more than that.
void check_rest(Run& run) {
  if (run.agent().ledger.has_reservations())
    run.host.wrong.emplace_back("a reservation is left behind");
  const Bytes rest = run.host.total - run.host.given();
  for (const Bytes more : {kStepUnit, Bytes()}) {
    const VolumeCopy last = ordered(9, rest + more);
    bool fits = false;
    const auto ask = [](Run& asking, const VolumeCopy& copy, bool& into) -> Task<void> {
      const auto asked = co_await asking.agent().hand.carry_out(CopyAction::kPromise, copy);
      into = asked.ok();
    };
    run.alone(ask(run, last, fits));
    if (fits != (more == Bytes()))
      run.host.wrong.push_back(concat(fits ? "more" : "less", " is left than is free"));
  }
}

class Explorer {
 public:
  Explorer(const Story& story, Knows knows, unsigned switches, bool kills)
      : story_(story), knows_(knows), switches_(switches), kills_(kills) {}

  // How many schedules there are. The test fails at the first in which something is wrong.
  int explore() {
    int runs = 0;
    do {
      ++runs;
      Run run;
      one(run);
      check_rest(run);
      if (run.host.wrong.empty()) continue;
      FAIL_CHECK(concat(run.host.wrong.front(), ", run ", runs, ":", path_));
      break;
    } while (schedule_.next());
    return runs;
  }

 private:
  void start_agent(Run& run) const {
    for (unsigned i = 0; i < story_.agents.size(); ++i)
      run.steps->start(i, begin(run, story_.agents[i]));
  }

  void one(Run& run) {
    path_.clear();
    if (story_.before) story_.before(run);
    learn(run, knows_);
    const auto agents = static_cast<unsigned>(story_.agents.size());
    const auto all = agents + static_cast<unsigned>(story_.others.size());
    start_agent(run);
    for (unsigned i = agents; i < all; ++i)
      run.steps->start(i, begin(run, story_.others[i - agents]));
    unsigned left = switches_, current = all;
    bool may_kill = kills_;
    for (;;) {
      const std::vector<unsigned> next = choices(run, current, all, left);
      if (next.empty()) return;
      const auto options = static_cast<unsigned>(next.size());
      const unsigned picked = schedule_.pick(options + (may_kill ? 1 : 0));
      if (picked == options) {
        kill(run, all);
        may_kill = false;
        continue;
      }
      if (next[picked] != current && current < all && run.steps->waits(current)) --left;
      current = next[picked];
      path_ += concat(" ", current);
      run.step(current);
    }
  }

  // The one that runs first.
  static std::vector<unsigned> choices(const Run& run, unsigned current, unsigned all,
                                       unsigned left) {
    std::vector<unsigned> next;
    const bool goes_on = current < all && run.steps->waits(current);
    if (goes_on) next.push_back(current);
    if (goes_on && left == 0) return next;
    for (unsigned i = 0; i < all; ++i)
      if (i != current && run.steps->waits(i)) next.push_back(i);
    return next;
  }

  // Who else is on the host goes on.
  void kill(Run& run, unsigned all) {
    path_ += " killed";
    const auto agents = static_cast<unsigned>(story_.agents.size());
    for (unsigned i = 0; i < std::min(agents, all); ++i) run.steps->abandon(i);
    run.start_agent();
    start_agent(run);
  }

  const Story& story_;
  const Knows knows_;
  const unsigned switches_;
  const bool kills_;
  Schedule schedule_;
  std::string path_;
};

// One switch more finds nothing else, and takes minutes. What was known before a kill is forgotten.
void explore(const Story& story) {
  for (const Knows knows : {Knows::kNothing, Knows::kAll, Knows::kWhatWas})
    CHECK(Explorer(story, knows, 2, false).explore() > 10);
  CHECK(Explorer(story, Knows::kWhatWas, 1, true).explore() > 100);
}

struct Copies {
  const VolumeCopy one = ordered(1, kMost), two = ordered(2, kMost), three = ordered(3, kMost);
  const VolumeCopy small = ordered(4, mib(400)), other_small = ordered(5, mib(400)),
                   large = ordered(6, mib(700)), other_large = ordered(7, mib(700));
  const VolumeCopy grown = ordered(4, kMost), other_grown = ordered(5, kMost);

  static void ready(Run& run, const VolumeCopy& copy) {
    run.put(copy, engine::RecordState::kReady);
  }
  static void promised(Run& run, const VolumeCopy& copy) {
    run.put(copy, engine::RecordState::kPromised);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Copies, "of two new volumes that do not fit together one is promised") {
  explore({.before = {}, .agents = {new_volume(one), new_volume(two)}, .others = {}});
}

TEST_CASE_FIXTURE(Copies, "what a removal frees is given once, and not before it is free") {
  explore({.before = [&](Run& run) { ready(run, three); },
           .agents = {change(CopyAction::kRemove, three), new_volume(one), new_volume(two)},
           .others = {}});
}

TEST_CASE_FIXTURE(Copies, "what a withdrawn promise frees is given once") {
  explore({.before = [&](Run& run) { promised(run, three); },
           .agents = {change(CopyAction::kWithdraw, three), new_volume(one), new_volume(two)},
           .others = {}});
}

TEST_CASE_FIXTURE(Copies, "a growth gets no room that another volume gets") {
  Story story{.before =
                  [&](Run& run) {
                    ready(run, small);
                    ready(run, other_small);
                  },
              .agents = {change(CopyAction::kGrow, grown)},
              .others = {}};
  SUBCASE("a new one") { story.agents.push_back(new_volume(large)); }
  SUBCASE("one that grows, too") { story.agents.push_back(change(CopyAction::kGrow, other_grown)); }
  explore(story);
}

TEST_CASE_FIXTURE(Copies, "what a mount makes meanwhile takes no room that was not its own") {
  explore({.before = [&](Run& run) { promised(run, three); },
           .agents = {new_volume(large), new_volume(other_large)},
           .others = {mount(three)}});
}

TEST_CASE_FIXTURE(Copies, "a look that others' changes come into is no reason to give room twice") {
  explore({.before = [&](Run& run) { ready(run, three); },
           .agents = {look(), change(CopyAction::kRemove, three), new_volume(one)},
           .others = {}});
}

TEST_CASE_FIXTURE(Copies, "a look that ends after a later one is no reason, either") {
  const Story story{
      .before = {}, .agents = {look(), new_volume(two), look(), new_volume(one)}, .others = {}};
  CHECK(Explorer(story, Knows::kNothing, 2, false).explore() > 1000);
}

}  // namespace flexlocal::provisioner::test
