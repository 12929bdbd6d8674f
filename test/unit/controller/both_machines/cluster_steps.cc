// What others do in the small world: the scheduler, kube-controller-manager, kubelet with the
// plugin, the claim's owner, watches that bring what changed, and everything that goes wrong.
#include "test/unit/controller/both_machines/decisions.h"
#include "test/unit/controller/both_machines/steps.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr auto kAvailable = static_cast<unsigned>(Phase::kAvailable);
constexpr auto kBound = static_cast<unsigned>(Phase::kBound);
constexpr auto kReleased = static_cast<unsigned>(Phase::kReleased);
constexpr auto kNoDisk = static_cast<unsigned>(DiskStage::kNone);
constexpr auto kDiskReady = static_cast<unsigned>(DiskStage::kReady);
constexpr auto kPromised = static_cast<unsigned>(RecordStage::kPromised);
constexpr auto kReady = static_cast<unsigned>(RecordStage::kReady);

bool is_claim_there(const World& world) { return world.claim.there != 0 && world.claim.anew == 0; }

// pkg/controller/volume/persistentvolume: the PersistentVolume first, then the claim; and what has
// no claim any more is released. pv-protection holds what is bound.
void add_binder_steps(const World& world, Steps& steps) {
  const VolumeBits& volume = world.volume;
  if (volume.there == 0) return;
  World next = world;
  if (!is_claim_there(world) && volume.phase != kReleased) {
    next.volume.phase = kReleased & 3U;
    touch_volume(next);
    steps.add(next, "kube-controller-manager releases the PersistentVolume");
  } else if (is_claim_there(world) && world.claim.bound == 0 && volume.phase == kAvailable &&
             volume.deleting == 0) {
    next.volume.phase = kBound & 3U;
    touch_volume(next);
    steps.add(next, "kube-controller-manager binds the PersistentVolume");
  } else if (is_claim_there(world) && world.claim.bound != 0 && volume.phase == kAvailable) {
    next.volume.phase = kBound & 3U;
    touch_volume(next);
    steps.add(next, "kube-controller-manager binds the claim again, which was Lost");
  } else if (is_claim_there(world) && world.claim.bound == 0 && volume.phase == kBound) {
    next.claim.bound = 1;
    touch_claim(next);
    steps.add(next, "kube-controller-manager binds the claim");
  }
  if (volume.deleting == 0 || volume.held != 0 || volume.phase == kBound) return;
  next = world;
  next.volume = blank<VolumeBits>();
  touch_volume(next);
  steps.add(next, "the PersistentVolume is gone");
}

// kube-controller-manager's pvc-protection holds a claim that a pod uses.
void add_owner_steps(const World& world, Steps& steps) {
  World next = world;
  if (is_claim_there(world) && world.claim.deleting == 0 && world.left.deletions > 0) {
    next.left.deletions = 0;
    next.claim.deleting = 1;
    touch_claim(next);
    steps.add(next, "somebody deletes the claim");
  }
  next = world;
  if (is_claim_there(world) && world.claim.deleting != 0 &&
      (world.pod.on == 0 || world.pod.forced != 0)) {
    next.claim = blank<ClaimBits>();
    touch_claim(next);
    steps.add(next, "the claim is gone");
  }
  if (world.claim.there == 0 && world.left.rebirth != 0) {
    next.left.rebirth = 0;
    next.claim = blank<ClaimBits>();
    next.claim.there = 1;
    next.claim.anew = 1;
    touch_claim(next);
    steps.add(next, "somebody makes a claim of the same name");
  }
}

void mount(const World& world, Steps& steps) {
  const World::Pod& pod = world.pod;
  World next = world;
  HostBits& host = next.hosts[pod.node];
  // As admission.cc: the record alone says it.
  if (host.record == 0 || host.record_slot != pod.slot || host.retained != 0 || host.claim == 0)
    return;
  if (host.record != kPromised && host.record != kReady) return;
  const bool makes = host.record == kPromised && host.disk == kNoDisk;
  const bool there = host.disk == kDiskReady && host.disk_slot == pod.slot;
  if (!makes && !there) return;  // test/rolled_back.inc
  const bool covers = world.written != 0 && (makes || host.data == 0);
  const bool twice = world.hosts[1U - pod.node].open != 0;
  if (host.record == kPromised) host.made_since_look = 1;
  host.mounted_since_look = 1;
  host.record = kReady & 7U;
  host.disk = kDiskReady & 7U;
  host.disk_slot = pod.slot;
  host.open = 1;
  host.data = 1;
  host.used = 1;
  next.written = 1;
  steps.add(next, makes ? "a pod mounts the volume, which is made" : "a pod mounts the volume",
            pod.node,
            world.copies[pod.slot].given_up != 0 ? "a pod mounts a copy that was given up"
            : covers ? "an empty volume is served to a claim that may have written to another"
            : twice  ? "two hosts have the volume mounted"
                     : nullptr);
}

// A host that is set up again has nothing mounted, and its agent begins anew.
bool lose_record(World& world, unsigned node) {
  HostBits& host = world.hosts[node];
  if (host.record == 0) return false;
  const HostBits before = host;
  host = blank<HostBits>();
  host.disk = before.disk;
  host.disk_slot = before.disk_slot;
  host.tag_retained = before.tag_retained;
  host.data = before.data;
  world.turns[node] = blank<TurnBits>();
  if (world.pod.on != 0 && world.pod.node == node) world.pod = blank<World::Pod>();
  return true;
}

void restart_agent(World& world, unsigned node) {
  world.turns[node] = blank<TurnBits>();
  world.hosts[node].hopeless = 0;
  for (unsigned slot = 0; slot < kSlots; ++slot)
    if (world.copies[slot].node == node || world.heard[slot].node == node)
      world.heard[slot] = world.copies[slot];
}

CopyBits as_given(const CopyBits& copy) {
  auto given = blank<CopyBits>();
  given.there = 1;
  given.uid = copy.uid;
  given.node = copy.node;
  given.retain = copy.retain;
  given.generation = 1;
  given.term = 1;
  return given;
}

// As it was answered before the order was changed.
CopyBits as_answered(const CopyBits& copy) {
  CopyBits answered = as_given(copy);
  const CopyState state = copy.made != 0 ? CopyState::kReady : CopyState::kPromised;
  answered.state = copy.promised != 0 ? static_cast<unsigned>(state) & 15U : 0U;
  answered.promised = copy.promised;
  answered.made = copy.made;
  answered.observed = copy.promised;
  return answered;
}

void restart_controller(World& world) {
  world.ordered = world.copies;
  world.known_volume = world.volume;
  world.known_claim = world.claim;
  world.replacing = blank<Replacing>();
  if (world.term < 3) world.term = (world.term + 1U) & 3U;
}

bool lose_disk(World& world, unsigned node) {
  HostBits& host = world.hosts[node];
  if (host.disk != kDiskReady || host.open != 0) return false;
  host.disk = kNoDisk & 7U;
  host.disk_slot = 0;
  host.tag_retained = 0;
  host.data = 0;
  world.turns[node] = blank<TurnBits>();
  return true;
}

void add_host_faults(const World& spent, unsigned node, Steps& steps) {
  World next = spent;
  next.damaged = 1;
  if (lose_record(next, node)) {
    steps.add(next, "the host loses its root disk", node);
    if (lose_disk(next, node)) steps.add(next, "the host loses all its disks", node);
  }
  next = spent;
  next.damaged = 1;
  if (lose_disk(next, node)) steps.add(next, "the host loses its data disk", node);
  next = spent;
  const auto known = next.heard;
  restart_agent(next, node);
  if (!same(next.turns, spent.turns) || next.hosts[node].hopeless != spent.hosts[node].hopeless)
    steps.add(next, "the agent is killed and starts again", node);
  // Its list may be a cache's: as the orders were when they were given, or first answered.
  for (const auto before : {as_given, as_answered}) {
    next.heard = known;
    for (CopyBits& heard : next.heard)
      if (heard.there != 0 && heard.node == node && heard.existing == 0) heard = before(heard);
    if (!same(next.heard, spent.heard))
      steps.add(next, "the agent starts again with an old list", node);
  }
}

// What people do by hand. That a pod's object is taken away damages nothing.
void add_hand_faults(const World& spent, Steps& steps) {
  World next = spent;
  if (spent.pod.on != 0 && spent.pod.forced == 0) {
    next.pod.forced = 1;
    steps.add(next, "somebody deletes the pod by force", spent.pod.node);
  }
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    next = spent;
    next.damaged = 1;
    if (apply(next, write_of(WriteKind::kRemoveCopy, slot, true)))
      steps.add(next, "somebody deletes the VolumeCopy", slot);
  }
  if (spent.volume.there == 0) return;
  next = spent;
  next.damaged = 1;
  next.volume = blank<VolumeBits>();
  touch_volume(next);
  steps.add(next, "somebody deletes the PersistentVolume by force");
  if (spent.volume.deleting != 0) return;
  next = spent;
  if (spent.volume.phase != kBound) next.damaged = 1;
  next.volume.deleting = 1;
  touch_volume(next);
  steps.add(next, "somebody deletes the PersistentVolume");
}

// The record refuses it, for ever.
void add_left_behind(const World& world, Steps& steps) {
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if ((world.left_behind >> slot & 1U) == 0) continue;
    for (unsigned node = 0; node < kHosts; ++node) {
      const HostBits& host = world.hosts[node];
      if (host.record_slot == slot && host.claim != 0 && host.retained == 0 &&
          (host.record == kPromised || host.record == kReady))
        steps.add(world, "a pod mounts the volume where it was before", node,
                  "a pod can mount a copy whose place another has");
    }
  }
}

}  // namespace

void add_pod_steps(const World& world, Steps& steps) {
  World next = world;
  add_left_behind(world, steps);
  const World::Pod& pod = world.pod;
  if (pod.on != 0) {
    if (world.hosts[pod.node].open == 0) mount(world, steps);
    next.hosts[pod.node].open = 0;
    next.pod = blank<World::Pod>();
    return steps.add(next, "the pod ends", pod.node);
  }
  const VolumeBits& volume = world.volume;
  if (!is_claim_there(world) || world.claim.bound == 0 || world.claim.deleting != 0 ||
      volume.there == 0 || volume.phase != kBound)
    return;
  next.pod.on = 1;
  next.pod.slot = volume.slot;
  next.pod.node = volume.node;
  steps.add(next, "a pod starts", volume.node);
}

void add_cluster_steps(const World& world, const Rules& rules, Steps& steps) {
  add_binder_steps(world, steps);
  add_owner_steps(world, steps);
  const ClaimBits& claim = world.claim;
  if (!is_claim_there(world) || claim.bound != 0 || claim.selected != 0 || claim.deleting != 0)
    return;
  for (unsigned node = 0; node < rules.hosts; ++node) {
    World next = world;
    next.claim.selected = (node + 1U) & 3U;
    touch_claim(next);
    steps.add(next, "the scheduler chooses a node", node);
  }
}

// Each kind of object has a watch of its own, and each agent has one.
void add_watch_steps(const World& world, Steps& steps) {
  World next = world;
  next.ordered = world.copies;
  if (!same(next, world)) steps.add(next, "controller hears of the VolumeCopies");
  next = world;
  next.known_volume = world.volume;
  if (!same(next, world)) steps.add(next, "controller hears of the PersistentVolume");
  next = world;
  next.known_claim = world.claim;
  if (!same(next, world)) steps.add(next, "controller hears of the claim");
  for (unsigned node = 0; node < kHosts; ++node) {
    next = world;
    for (unsigned slot = 0; slot < kSlots; ++slot) {
      const CopyBits& known = world.heard[slot];
      const unsigned of = known.there != 0 ? known.node : world.copies[slot].node;
      if (of == node) next.heard[slot] = world.copies[slot];
    }
    if (!same(next, world)) steps.add(next, "agent hears of its orders", node);
  }
}

void add_late_steps(const World& world, Steps& steps) {
  if (world.late.kind == 0) return;
  World next = world;
  next.late = blank<Write>();
  const bool taken = apply(next, world.late);
  steps.add(next, "the request that was under way arrives", world.late.slot,
            taken ? wrong_in(world, world.late) : nullptr);
}

void add_fault_steps(const World& world, Steps& steps) {
  if (world.left.faults == 0) return;
  World spent = world;
  spent.left.faults = (spent.left.faults - 1U) & 3U;
  for (unsigned node = 0; node < kHosts; ++node) add_host_faults(spent, node, steps);
  World next = spent;
  restart_controller(next);
  steps.add(next, "another leader begins");
  add_hand_faults(spent, steps);
}

void add_all_steps(const World& world, const Rules& rules, Steps& steps) {
  for (unsigned node = 0; node < rules.hosts; ++node) add_agent_steps(world, node, rules, steps);
  add_claim_steps(world, steps);
  add_volume_steps(world, steps);
  for (unsigned slot = 0; slot < kSlots; ++slot) add_collector_steps(world, slot, steps);
  add_pod_steps(world, steps);
  add_cluster_steps(world, rules, steps);
  add_watch_steps(world, steps);
  add_late_steps(world, steps);
  if (!rules.only_late) add_fault_steps(world, steps);
}

}  // namespace flexlocal::provisioner::test
