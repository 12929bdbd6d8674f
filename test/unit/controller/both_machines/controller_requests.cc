#include "test/unit/controller/both_machines/controller_requests.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr auto kServing = static_cast<unsigned>(DesiredState::kServing);
constexpr auto kUnsaid = static_cast<unsigned>(CopyState::kUnsaid);

// To the next request of the same pass; what the watch brings of it comes when it comes.
void go_on(World& world, const Write& write) {
  const bool ends = static_cast<WriteKind>(write.kind) == WriteKind::kEndVolume;
  world.replacing.stage = static_cast<unsigned>(ends ? Stage::kLetsGo : Stage::kBinds) & 3U;
  world.replacing.slot = write.slot;
  world.replacing.node = write.copy.node;
  world.replacing.holds = ends ? 1 : 0;
}

// Whether a pod may have what the PersistentVolume names, or still get it.
bool may_serve(const World& world) {
  const unsigned slot = world.volume.slot;
  const HostBits& host = world.hosts[world.volume.node];
  const bool mountable =
      host.record_slot == slot && (host.record == static_cast<unsigned>(RecordStage::kPromised) ||
                                   host.record == static_cast<unsigned>(RecordStage::kReady));
  return world.volume.there != 0 && (mountable || world.copies[slot].made != 0);
}

// What is wrong with a request that the API server takes.
const char* wrong_in(const World& world, const Write& write) {
  const bool wanted = world.claim.there != 0 && world.claim.anew == 0 && world.claim.bound != 0;
  const bool released = world.volume.phase == static_cast<unsigned>(Phase::kReleased);
  switch (static_cast<WriteKind>(write.kind)) {
    case WriteKind::kDeleteVolume:
      return wanted ? "the PersistentVolume of a claim that is bound to it is deleted" : nullptr;
    case WriteKind::kEndVolume:
    case WriteKind::kUnprotect:
      return wanted && may_serve(world)
                 ? "the PersistentVolume of a copy that may serve is replaced"
                 : nullptr;
    case WriteKind::kLetGo:
      return released && has_of(world.hosts[world.volume.node], world.volume.slot)
                 ? "a PersistentVolume is let go before its data is gone"
                 : nullptr;
    default:
      return nullptr;
  }
}

// Its pass ends with the request that is given up.
bool is_of_claim(const Write& write) {
  const auto kind = static_cast<WriteKind>(write.kind);
  return kind == WriteKind::kEndVolume || kind == WriteKind::kUnprotect ||
         kind == WriteKind::kCreateVolume;
}

bool is_unanswered(const CopyBits& copy) {
  return copy.state == kUnsaid || copy.observed < copy.generation;
}

}  // namespace

// What a write answers is known at once, as the workers' `put` does.
void take_in(World& world, const Write& write) {
  switch (static_cast<WriteKind>(write.kind)) {
    case WriteKind::kCreateCopy:
      if (write.copy.existing == 0) world.unoffered = (world.unoffered | (1U << write.slot)) & 3U;
      world.ordered[write.slot] = world.copies[write.slot];
      break;
    case WriteKind::kOrder:
      world.ordered[write.slot] = world.copies[write.slot];
      break;
    case WriteKind::kCreateVolume:
      world.replacing = blank<Replacing>();
      world.known_volume = world.volume;
      break;
    case WriteKind::kDeleteVolume:
      world.known_volume = world.volume;
      break;
    case WriteKind::kHandBack:
      world.known_claim = world.claim;
      break;
    case WriteKind::kEndVolume:
    case WriteKind::kUnprotect:
      go_on(world, write);
      break;
    case WriteKind::kNone:
    case WriteKind::kAnswer:
    case WriteKind::kRemoveCopy:
    case WriteKind::kLetGo:
      break;
  }
}

// The request arrives and is answered, or is under way for long. False: it was refused.
bool send(const World& world, const Write& write, const char* what, Steps& steps) {
  if (world.left.faults > 0 && world.late.kind == 0) {
    World late = world;
    late.late = write;
    if (is_of_claim(write)) late.replacing = blank<Replacing>();
    late.left.faults = (late.left.faults - 1U) & 3U;
    steps.add(late, "controller's next request is under way for long, and it gives up waiting",
              write.slot);
  }
  World next = world;
  if (!apply(next, write)) return false;
  take_in(next, write);
  steps.add(next, what, write.slot, wrong_in(world, write));
  return true;
}

// As OrderWorker::plan() asks CopyIndex: of the first that is to serve and is not answered.
bool waits_for_answer(const World& world) {
  for (const CopyBits& copy : world.ordered)
    if (copy.there != 0 && copy.desired == kServing && is_unanswered(copy)) return true;
  return false;
}

Write order_of(const World& world, unsigned slot, unsigned desired) {
  const CopyBits& copy = world.ordered[slot];
  Write write = write_of(WriteKind::kOrder, slot, copy.current != 0);
  write.copy.desired = desired & 3U;
  write.copy.term = world.term;
  return write;
}

// What a host has that no order names, as UnorderedCopies finds it. Its agent tells what it finds
// without an order.
bool has_told_copy(const World& world, unsigned slot) {
  if (world.ordered[slot].there != 0 || world.heard[slot].there != 0) return false;
  return has_of(world.hosts[0], slot) || has_of(world.hosts[1], slot);
}

}  // namespace flexlocal::provisioner::test
