// The agent may be killed between any two steps; the next one ends where it would have.
#include "flexvolume/base/text.h"
#include "test/unit/agent/copy_lab.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr int kEndless = 1'000'000;
constexpr int kMostPasses = 20;

enum class Kill { kBeforeStep, kBehindRequest };

// What a copy's life comes to, order by order.
struct Life : CopyLab {
  std::vector<std::string> ends;

  void carry_out() {
    for (int passes = 0; passes < kMostPasses; ++passes) {
      const auto passed = pass();
      if (passed && *passed == Pass::kDone) return;
      if (passed) continue;
      left = kEndless;
      restart();
      watch(name);
    }
    FAIL("no end");
  }
  void note() {
    const CopyStatus said = status();
    const std::string known =
        record() == nullptr
            ? std::string("none")
            : concat(engine::to_string(record()->state), " by order ", record()->order.generation,
                     " for ", record()->claim_uid, record()->retained ? " retained" : "");
    ends.push_back(concat(static_cast<int>(said.state), " promised ", said.promised ? 1 : 0,
                          " made ", said.made ? 1 : 0, " size ", said.size.count(), " observed ",
                          said.observed_generation, " record ", known, " volumes ",
                          storage.present.volumes.size(), " free ", storage.free().count()));
  }
  void follow(DesiredState desired, Bytes size) {
    order.volume.size = size;
    give(desired);
    carry_out();
    note();
  }
  void live() {
    storage.slices = {{.done = false, .wiped = kMiB, .size = kGiB}};
    follow(DesiredState::kServing, kGiB);
    follow(DesiredState::kServing, kTwoGiB);
    follow(DesiredState::kRetained, kTwoGiB);
    follow(DesiredState::kServing, kTwoGiB);
    follow(DesiredState::kRemoved, kTwoGiB);
  }
  // A promise that is given up, and then withdrawn.
  void be_given_up() {
    storage.make_status = Error(ErrorCode::kNoSpace, "1 GiB asked, 0 B free");
    follow(DesiredState::kServing, kGiB);
    follow(DesiredState::kWithdrawn, kGiB);
  }
  void be_withdrawn() {
    storage.slices = {{.done = false, .wiped = kMiB, .size = kGiB}};
    follow(DesiredState::kServing, kGiB);
    follow(DesiredState::kWithdrawn, kGiB);
    CHECK(status().state == CopyState::kRemoved);
  }
  // It serves again by its PersistentVolume.
  void be_withdrawn_from_a_pod() {
    follow(DesiredState::kServing, kGiB);
    record()->used = true;
    ledger().forget();
    follow(DesiredState::kWithdrawn, kGiB);
    CHECK(status().state == CopyState::kRetained);
    follow(DesiredState::kServing, kGiB);
    CHECK(status().state == CopyState::kReady);
  }
};

using Way = void (Life::*)();

// What is carried out when nothing kills it.
int steps_of(Way way, std::vector<std::string>& ends) {
  Life whole;
  (whole.*way)();
  ends = whole.ends;
  return kEndless - whole.left;
}

void check_killed(Way way, Kill kill, int at, const std::vector<std::string>& ends) {
  Life life;
  if (kill == Kill::kBeforeStep) {
    life.left = at;
  } else {
    life.server.alive = [&life, at] {
      life.server.loses_answer = kEndless - life.left-- == at;
      return true;
    };
  }
  (life.*way)();
  CAPTURE(at);
  REQUIRE(life.ends.size() == ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) CHECK(life.ends[i] == ends[i]);
  CHECK_FALSE(life.ledger().has_reservations());
}

}  // namespace

TEST_CASE("killed between any two steps, the agent that follows comes to the same") {
  for (const Way way :
       {&Life::live, &Life::be_given_up, &Life::be_withdrawn, &Life::be_withdrawn_from_a_pod}) {
    std::vector<std::string> ends;
    const int steps = steps_of(way, ends);
    CHECK(steps > 5);
    for (int at = 0; at < steps; ++at) {
      check_killed(way, Kill::kBeforeStep, at, ends);
      check_killed(way, Kill::kBehindRequest, at, ends);
    }
  }
}

}  // namespace flexlocal::provisioner::test
