// Whether everything comes to a good end when nothing goes wrong any more.
#include "flexvolume/base/text.h"
#include "test/unit/controller/both_machines/decisions.h"
#include "test/unit/controller/both_machines/search.h"

namespace flexlocal::provisioner::test {
namespace {

// More than any way to the end has.
constexpr unsigned kMostRounds = 200;
constexpr unsigned kMostStepsOfPass = 32;

constexpr auto kServing = static_cast<unsigned>(DesiredState::kServing);

bool is_claim_there(const World& world) { return world.claim.there != 0 && world.claim.anew == 0; }

// A PersistentVolume that a person deletes stays while its claim does, and serves.
bool serves(const World& world) {
  const CopyBits& copy = world.copies[world.volume.slot];
  const HostBits& host = world.hosts[world.volume.node];
  const auto state = static_cast<CopyState>(copy.state);
  const bool is_there = host.record == static_cast<unsigned>(RecordStage::kPromised) ||
                        (host.record == static_cast<unsigned>(RecordStage::kReady) &&
                         host.disk == static_cast<unsigned>(DiskStage::kReady));
  return world.volume.there != 0 && world.claim.bound != 0 && copy.there != 0 &&
         copy.desired == kServing && host.record_slot == world.volume.slot && is_there &&
         host.claim != 0 && host.retained == 0 &&
         (state == CopyState::kPromised || state == CopyState::kReady);
}

// VolumeEndWorker::tell_of_loss() and tell_of_trouble(): the PersistentVolume's copy says what is
// in its way.
bool is_told_of_volume(const World& world) {
  if (world.volume.there == 0) return false;
  const CopyBits& copy = world.copies[world.volume.slot];
  return copy.there != 0 && copy.trouble != 0;
}

// OrderWorker tells it on the claim.
bool is_told_to_claim(const World& world) {
  if (world.claim.bound != 0) return false;
  const OrderAction action = decide_order(world, Silence::kAnswered).action;
  // What keeps it from being bound is said by ClaimBinder::bind().
  return action == OrderAction::kReport || action == OrderAction::kRefuse ||
         action == OrderAction::kBind;
}

// ReplacementWorker tells it, as it does where no node has room.
bool is_told_of_replacement(const World& world) {
  if (world.claim.bound == 0) return false;
  const ReplacementAction action = decide_replacement(world, Silence::kAnswered).action;
  return action == ReplacementAction::kGiveOrder || action == ReplacementAction::kReport;
}

// UnneededCopyWorker::end(): of what no claim and no PersistentVolume has, a person decides, where
// a pod may have had it.
bool is_told_as_orphan(const World& world, unsigned slot) {
  const CopyBits& copy = world.copies[slot];
  return copy.there != 0 && was_made_or_found(copy_object(copy, slot));
}

bool has_left_of(const World& world, unsigned slot) {
  if (world.copies[slot].there != 0) return true;
  return has_of(world.hosts[0], slot) || has_of(world.hosts[1], slot);
}

// What an agent finds that no order names it tells, and OrphanedCopyWorker tells a person.
bool is_told_by_agent(const World& world, unsigned slot) {
  return world.copies[slot].there == 0 && world.heard[slot].there == 0;
}

const char* trouble_of_claim(const World& world, bool expect_served) {
  if (serves(world) && !(expect_served && has_left_of(world, 1U - world.volume.slot)))
    return nullptr;
  if (serves(world)) return "a copy that nobody uses stays beside the one that serves";
  if (expect_served) return "nothing went wrong, and a claim has no volume that serves it";
  if (is_told_of_volume(world) || is_told_to_claim(world) || is_told_of_replacement(world))
    return nullptr;
  // The claim says itself that its PersistentVolume is gone, or is going.
  const bool replaces =
      decide_replacement(world, Silence::kAnswered).action != ReplacementAction::kNone;
  const bool lost = !replaces && world.claim.bound != 0 &&
                    (world.volume.there == 0 || world.volume.deleting != 0);
  return lost ? nullptr : "a claim is neither bound to what serves it nor told why";
}

// By its policy, and its node says so: a person decides.
bool is_retained(const World& world, unsigned slot) {
  const CopyBits& copy = world.copies[slot];
  return world.retains != 0 && copy.there != 0 &&
         copy.desired == static_cast<unsigned>(DesiredState::kRetained) &&
         copy.state == static_cast<unsigned>(CopyState::kRetained);
}

const char* trouble_of_end(const World& world, bool nothing_stays) {
  const bool retained = world.volume.there != 0 && is_retained(world, world.volume.slot);
  // By the policy Retain a person deletes it, and that its copy is gone by then is said.
  const bool told = is_told_of_volume(world) && (!nothing_stays || world.retains != 0);
  if (world.volume.there != 0 && !retained && !told)
    return "the PersistentVolume of a claim that is gone stays, and nobody is told why";
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if (!has_left_of(world, slot) || world.volume.there != 0 || is_retained(world, slot)) continue;
    if (is_told_as_orphan(world, slot) && !nothing_stays) continue;
    const bool agent_tells = is_told_by_agent(world, slot) || world.copies[slot].trouble != 0;
    if (nothing_stays || !agent_tells)
      return "something is left of a claim that is gone, and is not told";
  }
  return nullptr;
}

}  // namespace

const char* trouble_in(const World& calm, bool expect_served) {
  return is_claim_there(calm) ? trouble_of_claim(calm, expect_served)
                              : trouble_of_end(calm, expect_served);
}

// What waits for a person or a fault will wait for ever; pods end, and what is under way arrives.
World Calm::calmed(const World& world) const {
  World calm = world;
  calm.left = blank<Budget>();
  if (calm.pod.on != 0) calm.hosts[calm.pod.node].open = 0;
  calm.pod = blank<World::Pod>();
  return calm;
}

bool Calm::first_of(const Steps& steps, World& world, const char*& what, unsigned& who) const {
  for (const Step& step : steps.all()) {
    if (same(step.world, world)) continue;
    world = step.world;
    what = step.what;
    who = step.who;
    return true;
  }
  return false;
}

// Whether a pass, from its beginning to its end, changed anything.
bool Calm::pass_of_agent(World& world, unsigned node) const {
  World now = world;
  const char* what = nullptr;
  unsigned who = 0;
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    now = world;
    for (unsigned steps = 0; steps < kMostStepsOfPass; ++steps) {
      Steps next;
      add_agent_steps(now, node, rules_, next);
      // Between two passes each of the copies is looked at.
      if (now.turns[node].on == 0 && next.all().size() > 1 && slot == 1)
        now = next.all().back().world;
      else if (!first_of(next, now, what, who))
        break;
      if (now.turns[node].on == 0) break;
    }
    if (same(now, world)) continue;
    world = now;
    return true;
  }
  return false;
}

bool Calm::step(World& world, unsigned round, const char*& what, unsigned& who) const {
  Steps steps;
  add_late_steps(world, steps);
  add_watch_steps(world, steps);
  if (first_of(steps, world, what, who)) return true;
  for (unsigned node = 0; node < rules_.hosts; ++node) {
    what = "agent makes a pass";
    who = node;
    if (pass_of_agent(world, node)) return true;
  }
  steps.clear();
  add_volume_steps(world, steps);
  add_claim_steps(world, steps);
  for (unsigned slot = 0; slot < kSlots; ++slot) add_collector_steps(world, slot, steps);
  if (first_of(steps, world, what, who)) return true;
  steps.clear();
  add_cluster_steps(world, rules_, steps);
  // The scheduler does not choose the same node again and again.
  if (!steps.all().empty() && round % 2 == 1) {
    world = steps.all().back().world;
    what = steps.all().back().what;
    who = steps.all().back().who;
    return true;
  }
  return first_of(steps, world, what, who) || time_passes(world, what, who);
}

// What was ordered and is not answered by now never is.
bool Calm::time_passes(World& world, const char*& what, unsigned& who) const {
  World waited = world;
  waited.left.silences = 1;
  Steps steps;
  add_claim_steps(waited, steps);
  for (const Step& step : steps.all()) {
    World next = step.world;
    next.left.silences = 0;
    if (same(next, world)) continue;
    world = next;
    what = step.what;
    who = step.who;
    return true;
  }
  return false;
}

const char* Calm::trouble_after(const World& world) {
  const bool expect_served = world.damaged == 0;
  World now = calmed(world);
  recycle(now);
  std::vector<World> way;
  const char* what = nullptr;
  unsigned who = 0;
  for (unsigned round = 0; round < kMostRounds; ++round) {
    if (good_.has(now)) break;
    way.push_back(now);
    if (!step(now, round, what, who)) {
      if (const char* const trouble = trouble_in(now, expect_served)) return trouble;
      break;
    }
    recycle(now);
    if (round + 1 == kMostRounds) return "it goes round in a circle";
  }
  for (const World& good : way) good_.put(good);
  return nullptr;
}

std::string Calm::way_from(const World& world) const {
  World now = calmed(world);
  recycle(now);
  std::string text;
  const char* what = nullptr;
  unsigned who = 0;
  for (unsigned round = 0; round < kMostRounds && step(now, round, what, who); ++round) {
    recycle(now);
    if (round < 40) text += concat("\n  ", what, " (", who + 1U, ')', text_of(now));
  }
  return text;
}

}  // namespace flexlocal::provisioner::test
