// The API server of the small world.
#include "test/unit/controller/both_machines/decisions.h"
#include "test/unit/controller/both_machines/steps.h"

namespace flexlocal::provisioner::test {
namespace {

bool is_of_object(const Write& write, unsigned slot) {
  const auto kind = static_cast<WriteKind>(write.kind);
  const bool of_copy =
      kind == WriteKind::kOrder || kind == WriteKind::kAnswer || kind == WriteKind::kRemoveCopy;
  return of_copy && write.slot == slot;
}

// A request that names no version is taken whatever became of the object meanwhile.
bool holds(const Write& write) {
  return write.holds != 0 || !names_version(static_cast<WriteKind>(write.kind));
}

bool create_copy(World& world, const Write& write) {
  CopyBits& copy = world.copies[write.slot];
  if (copy.there != 0 || copy.uid == 3) return false;
  const unsigned uid = copy.uid + 1U;
  copy = write.copy;
  copy.uid = uid & 3U;
  copy.there = 1;
  copy.retain = world.retains;
  copy.generation = 1;
  copy.current = 1;
  touch_copy(world, write.slot);
  return true;
}

// The order's term is a part of the spec.
bool change_copy(World& world, const Write& write) {
  CopyBits& copy = world.copies[write.slot];
  if (copy.there == 0 || !holds(write)) return false;
  const CopyBits before = copy;
  if (static_cast<WriteKind>(write.kind) == WriteKind::kOrder) {
    copy.desired = write.copy.desired;
    copy.term = write.copy.term;
    copy.given_up = copy.given_up | write.copy.given_up;
    if (!same(before, copy)) copy.generation = (copy.generation + 1U) & 15U;
  } else {
    copy.state = write.copy.state;
    copy.promised = copy.promised | write.copy.promised;
    copy.made = copy.made | write.copy.made;
    copy.used = copy.used | write.copy.used;
    copy.observed = write.copy.observed;
    copy.trouble = write.copy.trouble;
  }
  if (!same(before, copy)) touch_copy(world, write.slot);
  return true;
}

bool remove_copy(World& world, const Write& write) {
  CopyBits& copy = world.copies[write.slot];
  if (copy.there == 0 || !holds(write)) return false;
  const unsigned uid = copy.uid;
  copy = blank<CopyBits>();
  copy.uid = uid & 3U;
  copy.current = 1;
  touch_copy(world, write.slot);
  return true;
}

bool create_volume(World& world, const Write& write) {
  VolumeBits& volume = world.volume;
  if (volume.there != 0) return false;
  volume = blank<VolumeBits>();
  volume.there = 1;
  volume.held = 1;
  volume.retain = world.retains;
  volume.current = 1;
  volume.slot = write.slot;
  volume.node = write.copy.node;
  touch_volume(world);
  return true;
}

// kubelet goes on trying to mount it where the pod was sent.
void take_from_pod(World& world) {
  const World::Pod& pod = world.pod;
  if (pod.on != 0 && world.hosts[pod.node].open == 0) {
    world.left_behind = (world.left_behind | (1U << pod.slot)) & 3U;
    world.pod = blank<World::Pod>();
  }
  world.volume = blank<VolumeBits>();
}

bool change_volume(World& world, const Write& write) {
  VolumeBits& volume = world.volume;
  if (volume.there == 0 || !holds(write)) return false;
  const auto kind = static_cast<WriteKind>(write.kind);
  if (kind == WriteKind::kDeleteVolume || kind == WriteKind::kEndVolume)
    volume.deleting = 1;
  else
    volume.held = 0;
  if (kind == WriteKind::kUnprotect && volume.deleting != 0) take_from_pod(world);
  touch_volume(world);
  return true;
}

}  // namespace

void touch_copy(World& world, unsigned slot) {
  world.copies[slot].current = 1;
  world.ordered[slot].current = 0;
  world.heard[slot].current = 0;
  for (TurnBits& turn : world.turns)
    if (turn.on != 0 && turn.slot == slot) turn.copy.current = 0;
  if (is_of_object(world.late, slot)) world.late.holds = 0;
}

void touch_volume(World& world) {
  world.volume.current = 1;
  world.known_volume.current = 0;
  world.replacing.holds = 0;
  const auto kind = static_cast<WriteKind>(world.late.kind);
  if (kind == WriteKind::kDeleteVolume || kind == WriteKind::kRelease ||
      kind == WriteKind::kEndVolume || kind == WriteKind::kUnprotect)
    world.late.holds = 0;
}

void touch_claim(World& world) {
  world.claim.current = 1;
  world.known_claim.current = 0;
  if (static_cast<WriteKind>(world.late.kind) == WriteKind::kUnassign) world.late.holds = 0;
}

Write write_of(WriteKind kind, unsigned slot, bool holds) {
  auto write = blank<Write>();
  write.kind = static_cast<unsigned>(kind) & 15U;
  write.slot = slot & 1U;
  write.holds = holds ? 1 : 0;
  return write;
}

bool apply(World& world, const Write& write) {
  switch (static_cast<WriteKind>(write.kind)) {
    case WriteKind::kNone:
      break;
    case WriteKind::kCreateCopy:
      return create_copy(world, write);
    case WriteKind::kOrder:
    case WriteKind::kAnswer:
      return change_copy(world, write);
    case WriteKind::kRemoveCopy:
      return remove_copy(world, write);
    case WriteKind::kCreateVolume:
      return create_volume(world, write);
    case WriteKind::kDeleteVolume:
    case WriteKind::kRelease:
    case WriteKind::kEndVolume:
    case WriteKind::kUnprotect:
      return change_volume(world, write);
    case WriteKind::kUnassign:
      if (world.claim.there == 0 || !holds(write)) return false;
      world.claim.selected = 0;
      touch_claim(world);
      return true;
  }
  return false;
}

bool has_of(const HostBits& host, unsigned slot) {
  return (host.record != 0 && host.record_slot == slot) ||
         (is_ours(static_cast<DiskStage>(host.disk)) && host.disk_slot == slot);
}

bool is_free(const World& world, unsigned slot) {
  if (world.copies[slot].there != 0 || world.ordered[slot].there != 0 ||
      world.heard[slot].there != 0)
    return false;
  for (const VolumeBits& volume : {world.volume, world.known_volume})
    if (volume.there != 0 && volume.slot == slot) return false;
  for (const HostBits& host : world.hosts)
    if (has_of(host, slot)) return false;
  for (const TurnBits& turn : world.turns)
    if (turn.on != 0 && turn.slot == slot) return false;
  if (world.pod.on != 0 && world.pod.slot == slot) return false;
  if (world.replacing.stage != 0 && world.replacing.slot == slot) return false;
  const auto late = static_cast<WriteKind>(world.late.kind);
  const bool names_copy = is_of_object(world.late, slot) || late == WriteKind::kCreateCopy ||
                          late == WriteKind::kCreateVolume;
  return !(names_copy && world.late.slot == slot);
}

void recycle(World& world) {
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if (!is_free(world, slot)) continue;
    world.left_behind = world.left_behind & ~(1U << slot) & 3U;
    world.copies[slot] = blank<CopyBits>();
    world.ordered[slot] = blank<CopyBits>();
    world.heard[slot] = blank<CopyBits>();
    world.copies[slot].current = 1;
    world.ordered[slot].current = 1;
    world.heard[slot].current = 1;
  }
}

}  // namespace flexlocal::provisioner::test
