// The controller, as ReplacementWorker carries out what was planned: replacement_worker.cc. That it
// touches the claim at last only makes others look at it sooner.
#include "test/unit/controller/both_machines/controller_requests.h"
#include "test/unit/controller/both_machines/decisions.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr auto kWithdrawn = static_cast<unsigned>(DesiredState::kWithdrawn);
constexpr auto kStateRemoved = static_cast<unsigned>(CopyState::kRemoved);

Write write_for(WriteKind kind, const Replacing& by, bool holds) {
  Write write = write_of(kind, by.slot, holds);
  write.copy.node = by.node;
  return write;
}

// NodeChooser::choose(), for a leader that remembers no refusal.
bool may_be_chosen(const World& world, unsigned node) {
  for (const CopyBits& copy : world.ordered) {
    if (copy.there == 0 || copy.node != node) continue;
    if (copy.state != kStateRemoved) return false;
    if (is_to_go(static_cast<DesiredState>(copy.desired)) && copy.observed < copy.generation)
      return false;
  }
  return true;
}

void give(const World& world, unsigned hosts, Steps& steps) {
  for (unsigned slot = 0; slot < kSlots; ++slot)
    if (has_told_copy(world, slot)) return;  // it is told
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if (!is_free(world, slot)) continue;
    for (unsigned node = 0; node < hosts; ++node) {
      if (!may_be_chosen(world, node)) continue;
      Write write = write_of(WriteKind::kCreateCopy, slot, true);
      write.copy.node = node & 1U;
      write.copy.term = world.term;
      send(world, write, "controller orders a copy in place of the one that was given up", steps);
    }
    return;
  }
}

void stop(World next, const char* what, Steps& steps) {
  const unsigned slot = next.replacing.slot;
  next.replacing = blank<Replacing>();
  steps.add(next, what, slot);
}

void bind(const World& world, const Replacing& by, Steps& steps) {
  World next = world;
  const Write write = write_for(WriteKind::kCreateVolume, by, true);
  if (send(next, write, "controller makes the PersistentVolume anew", steps)) return;
  if (next.volume.slot == by.slot) next.known_volume = next.volume;
  stop(next, "controller finds a PersistentVolume there", steps);
}

void release(const World& world, const Replacing& by, bool holds, Steps& steps) {
  if (world.volume.there == 0) return bind(world, by, steps);
  const Write write = write_for(WriteKind::kUnprotect, by, holds);
  if (!send(world, write, "controller takes the PersistentVolume's finalizers away", steps))
    stop(world, "controller finds the PersistentVolume changed", steps);
}

void replace(const World& world, unsigned slot, Steps& steps) {
  auto by = blank<Replacing>();
  by.slot = slot & 1U;
  by.node = world.ordered[slot].node;
  const VolumeBits& known = world.known_volume;
  if (known.there == 0) return bind(world, by, steps);
  if (known.deleting != 0) return release(world, by, known.current != 0, steps);
  if (world.volume.there == 0) return bind(world, by, steps);
  const Write write = write_for(WriteKind::kEndVolume, by, known.current != 0);
  send(world, write, "controller deletes the PersistentVolume, to replace it", steps);
}

}  // namespace

void add_replacement_steps(const World& world, Silence silence, Steps& steps) {
  const ReplacementDecision decision = decide_replacement(world, silence);
  World now = world;
  switch (decision.action) {
    case ReplacementAction::kGiveUp: {
      const CopyBits& copy = world.ordered[decision.slot];
      Write write = order_of(world, decision.slot, kWithdrawn);
      if (is_gone(copy, decision.slot)) write.copy.term = copy.term;
      write.copy.given_up = 1;
      send(world, write, "controller gives the promise up", steps);
      return;
    }
    case ReplacementAction::kGiveOrder:
      return give(world, 1U + world.second_host, steps);
    case ReplacementAction::kWithdraw:
      if (silence == Silence::kLong) now.left.silences = (now.left.silences - 1U) & 3U;
      send(now, order_of(now, decision.slot, kWithdrawn), "controller withdraws the other order",
           steps);
      return;
    case ReplacementAction::kReplace:
      return replace(world, decision.slot, steps);
    case ReplacementAction::kNone:
    case ReplacementAction::kWait:
    case ReplacementAction::kReport:
      break;
  }
}

void go_on_replacing(const World& world, Steps& steps) {
  const Replacing by = world.replacing;
  if (static_cast<Stage>(by.stage) == Stage::kLetsGo)
    return release(world, by, by.holds != 0, steps);
  bind(world, by, steps);
}

}  // namespace flexlocal::provisioner::test
