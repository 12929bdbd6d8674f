#include "test/unit/controller/both_machines/controller_requests.h"

#include "test/unit/controller/both_machines/decisions.h"

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
  const CopyBits& copy = world.copies[slot];
  return world.volume.there != 0 && (mountable || (copy.made != 0 && !is_gone(copy, slot)));
}

// Its pass ends with the request that is given up.
bool is_of_claim(const Write& write) {
  const auto kind = static_cast<WriteKind>(write.kind);
  return kind == WriteKind::kEndVolume || kind == WriteKind::kUnprotect ||
         kind == WriteKind::kCreateVolume;
}

// plan_order() withdraws what is superfluous before it binds, and orders nothing where an earlier
// copy is being withdrawn. Nothing here is wrong without that: CopyCollector withdraws what the
// PersistentVolume does not name, and an agent lets an order wait for the copy that has its place.
// It spares a volume made for nothing, and a claim the time-out of a node that cannot take it.
//
// A promise may be given up while its claim is bound, where no pod can have the copy.
bool takes_from_claim(const World& world, const Write& write) {
  const VolumeBits& volume = world.volume;
  const bool withdraws = is_to_go(static_cast<DesiredState>(write.copy.desired)) &&
                         world.copies[write.slot].desired == kServing;
  const bool bound = world.claim.there != 0 && world.claim.anew == 0 && volume.there != 0 &&
                     volume.slot == write.slot &&
                     volume.phase == static_cast<unsigned>(Phase::kBound);
  return withdraws && bound && (write.copy.given_up == 0 || may_serve(world));
}

// plan_end() lets a volume go by a node's answer to the order as it is. One to an earlier order
// would do for what was removed: an agent promises nothing of which anything was ever said, so that
// what was Removed once stays so.
//
// Whether its host still has what is to be removed, or has not noted that it is to be retained.
bool is_unsettled(const World& world) {
  const HostBits& host = world.hosts[world.volume.node];
  const bool noted = host.retained != 0 || host.tag_retained != 0;
  return has_of(host, world.volume.slot) && !(world.volume.retain != 0 && noted);
}

// ReplacementWorker is held to it as well. A refusal of an earlier order would do for giving a
// promise up: a record that says so never says anything else.
bool is_unpromised(const World& world, unsigned slot) {
  return world.copies[slot].there != 0 && world.copies[slot].promised == 0 && world.damaged == 0;
}

bool is_unanswered(const CopyBits& copy) {
  return copy.state == kUnsaid || copy.observed < copy.generation;
}

}  // namespace

const char* wrong_in(const World& world, const Write& write) {
  const bool wanted = world.claim.there != 0 && world.claim.anew == 0 && world.claim.bound != 0;
  const bool released = world.volume.phase == static_cast<unsigned>(Phase::kReleased);
  const bool bound = world.volume.phase == static_cast<unsigned>(Phase::kBound);
  switch (static_cast<WriteKind>(write.kind)) {
    case WriteKind::kOrder:
      return takes_from_claim(world, write) ? "the order of a copy that a claim has is withdrawn"
                                            : nullptr;
    case WriteKind::kCreateVolume:
      return is_unpromised(world, write.slot)
                 ? "a PersistentVolume names a copy that its node has not promised"
                 : nullptr;
    case WriteKind::kUnassign:
      return world.claim.selected != 0 && world.claim.selected != write.copy.node + 1U
                 ? "a choice of the scheduler that nobody refused is taken back"
                 : nullptr;
    // One that came when its copy was gone, and another's was being made, goes before it is bound.
    case WriteKind::kDeleteVolume:
      return wanted && (bound || may_serve(world))
                 ? "the PersistentVolume of a claim that is bound to it is deleted"
                 : nullptr;
    case WriteKind::kEndVolume:
    case WriteKind::kUnprotect:
      return wanted && may_serve(world)
                 ? "the PersistentVolume of a copy that may serve is replaced"
                 : nullptr;
    case WriteKind::kRelease:
      return released && is_unsettled(world)
                 ? "a PersistentVolume is let go before its data is gone, or is retained"
                 : nullptr;
    default:
      return nullptr;
  }
}

// What a write answers is known at once, as the workers' `put` does.
void apply_write(World& world, const Write& write) {
  switch (static_cast<WriteKind>(write.kind)) {
    case WriteKind::kCreateCopy:
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
    case WriteKind::kUnassign:
      world.known_claim = world.claim;
      break;
    case WriteKind::kEndVolume:
    case WriteKind::kUnprotect:
      go_on(world, write);
      break;
    case WriteKind::kNone:
    case WriteKind::kAnswer:
    case WriteKind::kRemoveCopy:
    case WriteKind::kRelease:
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
  apply_write(next, write);
  steps.add(next, what, write.slot, wrong_in(world, write));
  return true;
}

// As OrderPlanner::plan() asks CopyIndex: of the first that is to serve and is not answered.
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
