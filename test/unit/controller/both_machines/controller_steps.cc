// The controller, as OrderWorker, VolumeEndWorker and CopyCollector carry out what was planned:
// order_worker.cc, volume_end_worker.cc, copy_collector.cc. Each request is one write; what the API
// server is asked before it is asked in the same step, for the write may be under way for as long
// as one likes.
#include "test/unit/controller/both_machines/controller_requests.h"
#include "test/unit/controller/both_machines/decisions.h"
#include "test/unit/controller/both_machines/steps.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr auto kServing = static_cast<unsigned>(DesiredState::kServing);
constexpr auto kRetained = static_cast<unsigned>(DesiredState::kRetained);
constexpr auto kWithdrawn = static_cast<unsigned>(DesiredState::kWithdrawn);
constexpr auto kStateRemoved = static_cast<unsigned>(CopyState::kRemoved);

// The claim goes back to the scheduler: SelectedNodeWorker::unassign().
void hand_back(const World& world, Steps& steps) {
  const ClaimBits& claim = world.known_claim;
  if (claim.selected == 0) return;
  Write write = write_of(WriteKind::kUnassign, 0, claim.current != 0);
  write.copy.node = (claim.selected - 1U) & 1U;
  send(world, write, "controller hands the claim back", steps);
}

class ClaimWorker {
 public:
  ClaimWorker(const World& world, Steps& steps) : world_(world), steps_(steps) {}

  void work(Silence silence);

 private:
  void give();
  bool adopt_told();
  void withdraw(unsigned slot, bool says_why);
  void bind(unsigned slot);

  World world_;
  Steps& steps_;
};

void ClaimWorker::work(Silence silence) {
  const OrderDecision decision = decide_order(world_, silence);
  const bool waited = silence == Silence::kLong && decision.action == OrderAction::kWithdraw;
  if (waited) world_.left.silences = (world_.left.silences - 1U) & 3U;
  switch (decision.action) {
    case OrderAction::kUnassign:
      return hand_back(world_, steps_);
    case OrderAction::kGiveOrder:
      return give();
    case OrderAction::kWithdraw:
      return withdraw(decision.slot, decision.says_why);
    case OrderAction::kBind:
      return bind(decision.slot);
    case OrderAction::kNone:
    case OrderAction::kWait:
    case OrderAction::kRefuse:
    case OrderAction::kReport:
      break;
  }
}

// Without a put-back it is kept for a person to choose: PriorCopies::adopt().
bool ClaimWorker::adopt_told() {
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if (!has_told_copy(world_, slot)) continue;
    Write write = write_of(WriteKind::kCreateCopy, slot, true);
    write.copy.node = has_of(world_.hosts[0], slot) ? 0 : 1;
    write.copy.existing = 1;
    write.copy.desired = kRetained & 3U;
    write.copy.term = world_.term;
    send(world_, write, "controller orders what was told to be kept", steps_);
    return true;
  }
  return false;
}

// A node's word may come too late, so that both happen.
void ClaimWorker::give() {
  adopt_told();
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if (!is_free(world_, slot)) continue;
    Write write = write_of(WriteKind::kCreateCopy, slot, true);
    write.copy.node = (world_.known_claim.selected - 1U) & 1U;
    write.copy.term = world_.term;
    send(world_, write, "controller orders a new copy", steps_);
    return;
  }
}

void ClaimWorker::withdraw(unsigned slot, bool says_why) {
  if (world_.ordered[slot].promised != 0 && world_.volume.there != 0) {
    world_.known_volume = world_.volume;
    return steps_.add(world_, "controller finds the PersistentVolume", slot);
  }
  const Write write = order_of(world_, slot, kWithdrawn);
  if (!send(world_, write, "controller withdraws the order", steps_)) return;
  World next = world_;
  apply(next, write);
  apply_write(next, write);
  const bool of_its_node = next.known_claim.selected == next.ordered[slot].node + 1U;
  if (says_why && of_its_node) hand_back(next, steps_);
}

void ClaimWorker::bind(unsigned slot) {
  const CopyBits& copy = world_.ordered[slot];
  if (copy.term < world_.term && copy.existing == 0)
    for (unsigned other = 0; other < kSlots; ++other)
      if (has_told_copy(world_, other)) return;  // check_other_copies() tells it
  Write write = write_of(WriteKind::kCreateVolume, slot, true);
  write.copy.node = copy.node;
  if (send(world_, write, "controller creates the PersistentVolume", steps_)) return;
  if (world_.volume.slot != slot) return;  // adopt() says so
  world_.known_volume = world_.volume;
  steps_.add(world_, "controller finds its PersistentVolume", slot);
}

void order_again(const World& world, unsigned slot, DesiredState desired, Steps& steps) {
  if (world.ordered[slot].there != 0) {
    send(world, order_of(world, slot, static_cast<unsigned>(desired)),
         "controller changes the order by the PersistentVolume", steps);
    return;
  }
  Write write = write_of(WriteKind::kCreateCopy, slot, true);
  write.copy.node = world.known_volume.node;
  write.copy.existing = 1;
  write.copy.desired = static_cast<unsigned>(desired) & 3U;
  write.copy.term = world.term;
  send(world, write, "controller gives a lost order again", steps);
}

// See VolumeEndWorker::still_ends(): the API server's own word.
bool still_ends(const World& world) {
  const VolumeBits& volume = world.volume;
  return volume.there != 0 && volume.slot == world.known_volume.slot && volume.deleting != 0 &&
         decide_end(volume, world.ordered[volume.slot]).desired == DesiredState::kRemoved;
}

bool ends_volume(const World& world, unsigned slot) {
  if (world.known_volume.there == 0 || world.known_volume.slot != slot) return false;
  const EndAction action = decide_end(world.known_volume, world.ordered[slot]).action;
  return action != EndAction::kNone && action != EndAction::kWait;
}

// See CopyOwners::is_being_replaced().
bool is_being_replaced(const World& world) {
  bool is_between = false;
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    const CopyBits& copy = world.ordered[slot];
    const bool is_named = world.known_volume.there != 0 && world.known_volume.slot == slot;
    if (copy.there != 0 && (copy.given_up != 0 ? world.known_volume.there == 0 || is_named
                                               : is_named && is_gone(copy, slot)))
      is_between = true;
  }
  const bool known = world.known_claim.there != 0 && world.known_claim.anew == 0;
  return is_between && (known || (world.claim.there != 0 && world.claim.anew == 0));
}

// See CopyOwners::is_needed(): the API server's own word.
bool is_needed(const World& world, unsigned slot) {
  if (is_being_replaced(world)) return true;
  const bool had_volume = world.known_volume.there != 0;
  const ClaimBits& known = world.known_claim;
  const bool lost_volume =
      world.ordered[slot].made != 0 && known.there != 0 && known.anew == 0 && known.bound != 0;
  if (!had_volume && !lost_volume) {
    const bool known_there = known.there != 0 && known.anew == 0;
    if (known_there || (world.claim.there != 0 && world.claim.anew == 0)) return true;
  }
  if (world.volume.there == 0) return had_volume;
  return world.volume.slot == slot;
}

}  // namespace

void add_claim_steps(const World& world, Steps& steps) {
  const ClaimBits& claim = world.known_claim;
  if (world.replacing.stage != 0) return go_on_replacing(world, steps);
  if (claim.there == 0 || claim.anew != 0) return;
  if (claim.bound != 0) {
    add_replacement_steps(world, waits_for_answer(world) ? Silence::kShort : Silence::kAnswered,
                          steps);
    if (waits_for_answer(world) && world.left.silences > 0)
      add_replacement_steps(world, Silence::kLong, steps);
    return;
  }
  if (!waits_for_answer(world)) return ClaimWorker(world, steps).work(Silence::kAnswered);
  ClaimWorker(world, steps).work(Silence::kShort);
  if (world.left.silences > 0) ClaimWorker(world, steps).work(Silence::kLong);
}

void add_volume_steps(const World& world, Steps& steps) {
  const VolumeBits& volume = world.known_volume;
  if (volume.there == 0) return;
  const unsigned slot = volume.slot;
  const EndDecision decision = decide_end(volume, world.ordered[slot]);
  World known = world;
  switch (decision.action) {
    case EndAction::kDelete:
      send(world, write_of(WriteKind::kDeleteVolume, slot, volume.current != 0),
           "controller deletes the PersistentVolume", steps);
      break;
    case EndAction::kGiveOrder:
      if (decision.desired != DesiredState::kRemoved || still_ends(world))
        return order_again(world, slot, decision.desired, steps);
      known.known_volume = world.volume;
      steps.add(known, "controller finds the PersistentVolume changed", slot);
      break;
    case EndAction::kRelease:
      send(world, write_of(WriteKind::kRelease, slot, volume.current != 0),
           "controller lets the PersistentVolume go", steps);
      break;
    case EndAction::kNone:
    case EndAction::kWait:
      break;
  }
}

// An object that is removed stays for kRemovedStays: until no request is under way any more,
// watches have brought what it did, and whatever its PersistentVolume waited for is done.
void add_collector_steps(const World& world, unsigned slot, Steps& steps) {
  const CopyBits& copy = world.ordered[slot];
  if (copy.there == 0) return;
  const bool has_volume = world.known_volume.there != 0 && world.known_volume.slot == slot;
  const bool is_removed =
      copy.desired != kServing && copy.state == kStateRemoved && copy.observed >= copy.generation;
  if (is_removed && (is_to_go(static_cast<DesiredState>(copy.desired)) || !has_volume)) {
    if ((copy.given_up != 0 || (has_volume && is_gone(copy, slot))) && is_being_replaced(world))
      return;
    if (world.late.kind == 0 && world.replacing.stage == 0 &&
        same(world.known_volume, world.volume) && !ends_volume(world, slot))
      send(world, write_of(WriteKind::kRemoveCopy, slot, copy.current != 0),
           "controller deletes the order of what is removed", steps);
    return;
  }
  if (has_volume) return;
  if (copy.desired != kServing || is_needed(world, slot)) return;
  const ClaimBits& claim = world.known_claim;
  const bool lost_volume =
      copy.made != 0 && claim.there != 0 && claim.anew == 0 && claim.bound != 0;
  if (copy.existing != 0 || lost_volume) return;  // told as an orphan
  send(world, order_of(world, slot, kWithdrawn), "controller withdraws what no claim needs", steps);
}

}  // namespace flexlocal::provisioner::test
