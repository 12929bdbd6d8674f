// The agent of a host, as CopyWorker (copy_worker.cc) goes from step to step and CopyHand
// (copy_hand.cc) carries out, with the rules by which the engine changes a record
// (flexvolume/engine/volume/copy_records.cc).
#include "test/unit/controller/both_machines/decisions.h"
#include "test/unit/controller/both_machines/steps.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr auto kNoDisk = static_cast<unsigned>(DiskStage::kNone);
constexpr auto kDiskReady = static_cast<unsigned>(DiskStage::kReady);
constexpr auto kDiskWiping = static_cast<unsigned>(DiskStage::kWiping);

unsigned bits(RecordStage stage) { return static_cast<unsigned>(stage); }
bool has(const HostBits& host, RecordStage stage) { return host.record == bits(stage); }

// What a look of before the last mount shows.
HostBits seen_before(HostBits host) {
  if (host.mounted_since_look != 0) host.open = 0;
  if (host.made_since_look != 0) {
    host.record = bits(RecordStage::kPromised) & 7U;
    host.disk = kNoDisk & 7U;
    host.disk_slot = 0;
  }
  return host;
}

// See needs_look() in copy_worker.cc.
bool needs_look(const AgentDecision& decision, const CopyBits& copy) {
  const bool grave =
      decision.state == CopyState::kLost || decision.trouble == CopyTrouble::kDamaged;
  const bool vanished = decision.state == CopyState::kRemoved &&
                        decision.action == CopyAction::kNone && copy.promised != 0;
  return grave || vanished || decision.trouble == CopyTrouble::kBusy;
}

void set_turn(World& world, unsigned node, unsigned slot, const CopyBits& copy, bool fresh,
              CopyAction todo) {
  TurnBits& turn = world.turns[node];
  turn = blank<TurnBits>();
  if (!fresh && todo == CopyAction::kNone) return;
  turn.copy = copy;
  turn.on = 1;
  turn.slot = slot & 1U;
  turn.fresh = fresh ? 1 : 0;
  turn.todo = static_cast<unsigned>(todo) & 15U;
}

class Agent {
 public:
  Agent(const World& world, unsigned node, const Rules& rules, Steps& steps)
      : world_(world), node_(node), rules_(rules), steps_(steps), host_(world.hosts[node]) {}

  void decide(unsigned slot, const CopyBits& copy, bool fresh) {
    decide_by(slot, copy, fresh, host_, true);
    if (host_.mounted_since_look != 0) decide_by(slot, copy, fresh, seen_before(host_), false);
  }
  void carry_out();

 private:
  void decide_by(unsigned slot, const CopyBits& copy, bool fresh, const HostBits& seen,
                 bool looked);
  void read_anew(World next, unsigned slot, const CopyBits& copy);
  void answer(World next, unsigned slot, const CopyBits& copy, const CopyBits& answered, bool fresh,
              CopyAction then, const char* what);
  void promise(const TurnBits& turn);
  void follow(const TurnBits& turn, bool closes);
  void adopt(const TurnBits& turn);
  void make(const TurnBits& turn);
  void set_retained(const TurnBits& turn);
  void remove(const TurnBits& turn);
  void withdraw(const TurnBits& turn);
  void give_up(const TurnBits& turn);

  bool is_record_of(unsigned slot) const { return host_.record != 0 && host_.record_slot == slot; }
  bool is_unmade() const {
    return has(host_, RecordStage::kPromised) || has(host_, RecordStage::kRefused);
  }
  // The turn is over: what comes next is decided on a new look at the host.
  World ended() const {
    World next = world_;
    next.turns[node_] = blank<TurnBits>();
    next.hosts[node_].mounted_since_look = 0;
    next.hosts[node_].made_since_look = 0;
    return next;
  }

  const World& world_;
  unsigned node_;
  const Rules& rules_;
  Steps& steps_;
  const HostBits& host_;
};

void Agent::decide_by(unsigned slot, const CopyBits& copy, bool fresh, const HostBits& seen,
                      bool looked) {
  const AgentDecision decision = decide_copy(copy, slot, fresh, seen);
  if (!looked && needs_look(decision, copy)) return;
  World next = world_;
  if (looked) {
    next.hosts[node_].mounted_since_look = 0;
    next.hosts[node_].made_since_look = 0;
  }
  if (decision.action == CopyAction::kReadAnew) return read_anew(next, slot, copy);
  if (decision.action != CopyAction::kPromise && !same(decision.answered, copy))
    return answer(next, slot, copy, decision.answered, fresh, decision.action, "agent answers");
  if (decision.action == CopyAction::kNone) {
    next.turns[node_] = blank<TurnBits>();
    if (!same(next, world_)) steps_.add(next, "agent ends its pass", node_);
    return;
  }
  set_turn(next, node_, slot, copy, fresh, decision.action);
  steps_.add(next, "agent decides what to do", node_);
}

void Agent::read_anew(World next, unsigned slot, const CopyBits& copy) {
  const CopyBits& latest = world_.copies[slot];
  next.turns[node_] = blank<TurnBits>();
  if (latest.there != 0 && latest.uid == copy.uid)
    set_turn(next, node_, slot, latest, true, CopyAction::kNone);
  if (!same(next, world_)) steps_.add(next, "agent reads the order anew", node_);
}

void Agent::answer(World next, unsigned slot, const CopyBits& copy, const CopyBits& answered,
                   bool fresh, CopyAction then, const char* what) {
  Write write = write_of(WriteKind::kAnswer, slot, copy.current != 0);
  write.copy = answered;
  if (world_.left.faults > 0 && world_.late.kind == 0) {
    World late = next;
    late.late = write;
    late.left.faults = (late.left.faults - 1U) & 3U;
    late.turns[node_] = blank<TurnBits>();
    steps_.add(late, "agent's answer is under way for long, and it gives up waiting", node_);
  }
  if (apply(next, write)) {
    next.heard[slot] = next.copies[slot];
    // Where nothing is to be done, the next step finds the same.
    set_turn(next, node_, slot, next.copies[slot], fresh && then != CopyAction::kNone, then);
    steps_.add(next, what, node_);
    return;
  }
  next.turns[node_] = blank<TurnBits>();
  if (!same(next, world_)) steps_.add(next, "agent's answer is refused: the order changed", node_);
}

void Agent::promise(const TurnBits& turn) {
  if (world_.left.refusals > 0) {
    World next = ended();
    next.left.refusals = (next.left.refusals - 1U) & 3U;
    const CopyBits no = refused(turn.copy, turn.slot, host_);
    answer(next, turn.slot, turn.copy, no, false, CopyAction::kNone, "agent refuses: no room");
  }
  World next = ended();
  HostBits& host = next.hosts[node_];
  const bool again = has(host_, RecordStage::kPromised) && host_.record_slot == turn.slot &&
                     host_.order_uid == turn.copy.uid;
  if (host.record != 0 && !again) return steps_.add(next, "agent finds another record", node_);
  host.record = bits(RecordStage::kPromised) & 7U;
  host.record_slot = turn.slot;
  host.order_uid = turn.copy.uid;
  host.order_generation = turn.copy.generation;
  host.order_term = turn.copy.term;
  host.claim = 1;
  host.retained = is_to_be_kept(static_cast<DesiredState>(turn.copy.desired)) ? 1 : 0;
  steps_.add(next, "agent records its promise", node_);
}

void Agent::follow(const TurnBits& turn, bool closes) {
  World next = ended();
  HostBits& host = next.hosts[node_];
  if (!is_record_of(turn.slot) || has(host_, RecordStage::kRefused) ||
      has(host_, RecordStage::kWiping))
    return steps_.add(next, "agent cannot change the record", node_);
  host.order_uid = turn.copy.uid;
  host.order_generation = turn.copy.generation;
  host.order_term = turn.copy.term;
  host.claim = closes ? 0 : 1;
  if (is_unmade())
    host.retained = is_to_be_kept(static_cast<DesiredState>(turn.copy.desired)) ? 1 : 0;
  const bool goes_back =
      host_.order_uid == turn.copy.uid && turn.copy.generation < host_.order_generation;
  steps_.add(
      next, closes ? "agent closes the volume" : "agent records the order", node_,
      goes_back ? "a host follows an order that is older than the one it followed" : nullptr);
}

void Agent::adopt(const TurnBits& turn) {
  World next = ended();
  HostBits& host = next.hosts[node_];
  if (host_.record == 0 && host_.disk == kDiskReady && host_.disk_slot == turn.slot) {
    host.record = bits(RecordStage::kReady) & 7U;
    host.record_slot = turn.slot;
    host.order_uid = 0;
    host.order_generation = 0;
    host.order_term = 0;
    host.claim = 0;
    host.retained = host_.tag_retained;
    host.used = 1;
  }
  steps_.add(next, "agent takes up what the tags speak for", node_);
}

void Agent::make(const TurnBits& turn) {
  if (rules_.gives_up && world_.left.refusals > 0 && has(host_, RecordStage::kPromised)) {
    World next = ended();
    next.left.refusals = (next.left.refusals - 1U) & 3U;
    next.hosts[node_].hopeless = 1;
    const CopyBits said = troubled(turn.copy, turn.slot, host_);
    answer(next, turn.slot, turn.copy, said, false, CopyAction::kNone, "agent cannot make it");
  }
  World next = ended();
  HostBits& host = next.hosts[node_];
  if (is_record_of(turn.slot) && has(host_, RecordStage::kPromised)) {
    host.used = host_.disk == kNoDisk ? 0 : 1;
    if (host_.disk == kNoDisk) {
      host.disk = kDiskReady & 7U;
      host.disk_slot = turn.slot;
      host.tag_retained = 0;
      host.data = 0;
    }
    host.record = bits(RecordStage::kReady) & 7U;
    host.hopeless = 0;
  }
  // Twice over: CopyWorker answers before it acts, and plan_copy() makes nothing before the status
  // says so. Either would do alone.
  const bool known = world_.copies[turn.slot].promised != 0 || world_.damaged != 0;
  steps_.add(next, "agent makes it", node_,
             known ? nullptr : "a volume is made whose promise the API server does not know");
}

void Agent::set_retained(const TurnBits& turn) {
  World next = ended();
  HostBits& host = next.hosts[node_];
  const bool retains = static_cast<CopyAction>(turn.todo) == CopyAction::kRetain;
  if (is_record_of(turn.slot)) {
    host.retained = retains ? 1 : 0;
    if (is_ours(static_cast<DiskStage>(host.disk))) host.tag_retained = host.retained;
  }
  steps_.add(next, retains ? "agent retains it" : "agent releases it", node_);
}

// What is said of the disk stays.
void drop_record(HostBits& host) {
  const unsigned disk = host.disk;
  host = blank<HostBits>();
  host.disk = disk & 7U;
}

// Tags and mark are looked at again under the volume's lock: rule 4 of flexvolume/README.md. The
// record goes last.
void Agent::remove(const TurnBits& turn) {
  World next = ended();
  HostBits& host = next.hosts[node_];
  const bool disk_of_this =
      is_ours(static_cast<DiskStage>(host_.disk)) && host_.disk_slot == turn.slot;
  const bool other_record = host_.record != 0 && host_.record_slot != turn.slot;
  // Engine::remove_unused() looks at the record once more.
  const bool keeps = static_cast<DesiredState>(turn.copy.desired) == DesiredState::kWithdrawn &&
                     (host_.record == 0 || is_unmade() || host_.used != 0);
  if (host_.open != 0 || other_record || keeps || (!disk_of_this && !is_record_of(turn.slot)))
    return steps_.add(next, "agent cannot remove it now", node_);
  if (disk_of_this && host_.disk != kDiskWiping) {
    const bool wanted = world_.claim.there != 0 && world_.claim.anew == 0;
    host.disk = kDiskWiping & 7U;
    if (host.record != 0) host.record = bits(RecordStage::kWiping) & 7U;
    host.data = 0;
    return steps_.add(next, "agent begins to wipe it", node_,
                      host_.data == 0 ? nullptr
                      : wanted        ? "data is removed whose claim is still there"
                      : world_.retains != 0 && world_.damaged == 0
                          ? "data is removed that is to be retained"
                          : nullptr);
  }
  if (disk_of_this) {
    host.disk = kNoDisk & 7U;
    host.disk_slot = 0;
    host.tag_retained = 0;
    return steps_.add(next, "agent removes what it wiped", node_);
  }
  drop_record(host);
  steps_.add(next, "agent removes the record", node_);
}

void Agent::withdraw(const TurnBits& turn) {
  World next = ended();
  HostBits& host = next.hosts[node_];
  if (!is_record_of(turn.slot) || !is_unmade())
    return steps_.add(next, "agent cannot withdraw it any more", node_);
  drop_record(host);
  steps_.add(next, "agent withdraws its promise", node_);
}

void Agent::give_up(const TurnBits& turn) {
  World next = ended();
  if (is_record_of(turn.slot) && is_unmade())
    next.hosts[node_].record = bits(RecordStage::kRefused) & 7U;
  steps_.add(next, "agent gives its promise up", node_);
}

void Agent::carry_out() {
  const TurnBits turn = world_.turns[node_];
  switch (static_cast<CopyAction>(turn.todo)) {
    case CopyAction::kPromise:
      return promise(turn);
    case CopyAction::kAdopt:
      return adopt(turn);
    case CopyAction::kRecord:
    case CopyAction::kClose:
      return follow(turn, static_cast<CopyAction>(turn.todo) == CopyAction::kClose);
    case CopyAction::kMake:
      return make(turn);
    case CopyAction::kRetain:
    case CopyAction::kRelease:
      return set_retained(turn);
    case CopyAction::kRemove:
      return remove(turn);
    case CopyAction::kWithdraw:
      return withdraw(turn);
    case CopyAction::kGiveUp:
      return give_up(turn);
    case CopyAction::kNone:
    case CopyAction::kReadAnew:
    case CopyAction::kGrow:
      steps_.add(ended(), "agent does nothing", node_);
  }
}

}  // namespace

void add_agent_steps(const World& world, unsigned node, const Rules& rules, Steps& steps) {
  Agent agent(world, node, rules, steps);
  const TurnBits& turn = world.turns[node];
  if (turn.on != 0 && turn.todo != 0) return agent.carry_out();
  if (turn.on != 0) return agent.decide(turn.slot, turn.copy, turn.fresh != 0);
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    const CopyBits& copy = world.heard[slot];
    if (copy.there != 0 && copy.node == node) agent.decide(slot, copy, false);
  }
}

}  // namespace flexlocal::provisioner::test
