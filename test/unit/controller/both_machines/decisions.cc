#include "test/unit/controller/both_machines/decisions.h"

#include <unordered_map>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "provisioner/agent/copy_answer.h"
#include "provisioner/objects/claim_patch.h"
#include "provisioner/objects/volume_object.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

const std::array<std::string, kSlots> kCopyIds = {"000000000000000a", "000000000000000b"};
const std::array<std::string, kHosts> kNodes = {"node-a", "node-b"};
const CopyProblem kNoRoomHere{"NotPossibleHere", "there is no room"};

std::string uid_of_object(unsigned uid) { return concat("object-", uid); }

HostCopy host_object(const HostBits& bits) {
  HostCopy host;
  host.record = static_cast<RecordStage>(bits.record);
  if (host.record != RecordStage::kNone) {
    host.record_copy = kCopyIds[bits.record_slot];
    host.order_uid = uid_of_object(bits.order_uid);
    host.order_generation = bits.order_generation;
    host.order_term = bits.order_term;
    host.claim_uid = bits.claim != 0 ? kUid : std::string();
    host.claim_namespace = sample_claim().namespace_name;
    host.retained = bits.retained != 0;
    const bool unmade =
        host.record == RecordStage::kPromised || host.record == RecordStage::kRefused;
    host.used = unmade || bits.used != 0;
  }
  host.disk = static_cast<DiskStage>(bits.disk);
  if (host.disk != DiskStage::kNone) {
    host.disk_copy = kCopyIds[bits.disk_slot];
    host.partly_retained =
        host.record != RecordStage::kNone && host.retained != (bits.tag_retained != 0);
    host.retained = host.retained || bits.tag_retained != 0;
    host.size = kGiB;
  }
  host.open = bits.open != 0;
  host.hopeless = bits.hopeless != 0 && host.record == RecordStage::kPromised;
  return host;
}

// As is_in_doubt() in host_copy.h, for a host that has records of this one volume.
bool is_in_doubt(const CopyBits& copy, unsigned slot, const HostBits& host) {
  const bool has_record = host.record != static_cast<unsigned>(RecordStage::kNone);
  if (!has_record) return false;
  const bool here = is_ours(static_cast<DiskStage>(host.disk)) && host.disk_slot == slot;
  const bool of_this = host.record_slot == slot;
  if (!of_this && is_to_go(static_cast<DesiredState>(copy.desired)) && !here) return false;
  return copy.term < host.order_term;
}

CopyBits with_status(CopyBits bits, const CopyStatus& status) {
  bits.state = static_cast<unsigned>(status.state) & 15U;
  bits.promised = status.promised ? 1 : 0;
  bits.made = status.made ? 1 : 0;
  bits.used = status.used ? 1 : 0;
  bits.observed = static_cast<unsigned>(status.observed_generation) & 15U;
  bits.trouble = 0;
  for (const CopyCondition& condition : status.conditions)
    if (!condition.holds) bits.trouble = 1;
  return bits;
}

CopyBits answered(const CopyBits& bits, unsigned slot, const HostBits& host, const CopyPlan& plan,
                  const std::optional<CopyProblem>& problem) {
  const VolumeCopy copy = copy_object(bits, slot);
  return with_status(bits, answer_to(copy, plan, host_object(host), problem, "host", {}));
}

AgentDecision decide_copy_now(const CopyBits& bits, unsigned slot, bool fresh,
                              const HostBits& host) {
  const VolumeCopy copy = copy_object(bits, slot);
  const AgentIdentity self{kNodes[bits.node], concat("uid-of-", kNodes[bits.node]), kCluster};
  const CopyPlan plan =
      plan_copy({&copy, fresh, is_in_doubt(bits, slot, host)}, self, host_object(host));
  return {plan.action, plan.state, plan.trouble, answered(bits, slot, host, plan, std::nullopt)};
}

Claim claim_object(const ClaimBits& bits) {
  Claim claim = sample_claim();
  claim.selected_node = bits.selected == 0 ? std::string() : kNodes[bits.selected - 1];
  claim.deleting = bits.deleting != 0;
  if (bits.bound != 0) claim.volume_name = volume_of_claim(claim.uid);
  return claim;
}

std::optional<std::chrono::nanoseconds> length_of(Silence silence) {
  if (silence == Silence::kShort) return std::chrono::seconds(1);
  if (silence == Silence::kLong) return kOrderTimeout;
  return std::nullopt;
}

std::vector<KnownCopy> known_copies(const World& world) {
  std::vector<KnownCopy> copies;
  for (unsigned slot = 0; slot < kSlots; ++slot)
    if (world.ordered[slot].there != 0)
      copies.push_back(std::make_shared<const VolumeCopy>(copy_object(world.ordered[slot], slot)));
  return copies;
}

unsigned slot_of(const KnownCopy& copy) {
  return copy != nullptr && copy->order->volume.copy == kCopyIds[1] ? 1U : 0U;
}

OrderDecision decide_order_now(const World& world, Silence silence) {
  const Claim claim = claim_object(world.known_claim);
  const StorageClass of_class = sample_class();
  ClaimSituation now{.claim = claim,
                     .storage_class = &of_class,
                     .volume_exists = world.known_volume.there != 0,
                     .term = world.term,
                     .node = claim.selected_node};
  now.unanswered_for = length_of(silence);
  now.copies = known_copies(world);
  const OrderPlan plan = plan_order(now);
  return {plan.action, slot_of(plan.copy), !plan.why.empty()};
}

Volume volume_object(const VolumeBits& bits) {
  Volume volume;
  volume.name = volume_of_claim(kUid);
  volume.phase = bits.phase == static_cast<unsigned>(Phase::kBound)      ? "Bound"
                 : bits.phase == static_cast<unsigned>(Phase::kReleased) ? "Released"
                                                                         : "Available";
  volume.reclaim_policy = bits.retain != 0 ? "Retain" : "Delete";
  volume.provisioned_by = engine::kProvisioner;
  volume.driver = engine::kDriver;
  volume.node = kNodes[bits.node];
  volume.claim_uid = kUid;
  volume.copy = kCopyIds[bits.slot];
  if (bits.held != 0) volume.finalizers.emplace_back(kFinalizer);
  volume.deleting = bits.deleting != 0;
  return volume;
}

ReplacementDecision decide_replacement_now(const World& world, Silence silence) {
  const Claim claim = claim_object(world.known_claim);
  const Volume volume = volume_object(world.known_volume);
  const ReplacementSituation now{.claim = claim,
                                 .volume = world.known_volume.there != 0 ? &volume : nullptr,
                                 .copies = known_copies(world),
                                 .unanswered_for = length_of(silence)};
  const ReplacementPlan plan = plan_replacement(now);
  return {plan.action, slot_of(plan.copy)};
}

bool has_version(const std::string& patch, const std::string& version) {
  const auto document = JsonDocument::parse(patch);
  return document && document->root()["metadata"]["resourceVersion"].text() == version;
}

bool names_version_now(WriteKind kind) {
  const VolumeCopy copy = copy_object(blank<CopyBits>(), 0);
  const auto of_copy = [&](const std::string& patch) {
    return has_version(patch, copy.resource_version);
  };
  Claim claim = sample_claim();
  claim.resource_version = "6";
  Volume volume = volume_object(blank<VolumeBits>());
  volume.resource_version = "8";
  switch (kind) {
    case WriteKind::kOrder:
      return of_copy(order_patch(copy, *copy.order)) &&
             of_copy(order_patch(copy, *copy.order, kGivenUpAnnotation));
    case WriteKind::kAnswer:
      return of_copy(status_patch(copy, copy.status));
    case WriteKind::kUnassign:
      return has_version(patch_without_selected_node(claim), claim.resource_version);
    case WriteKind::kRelease:
      return has_version(patch_without_finalizer(volume), volume.resource_version);
    case WriteKind::kUnprotect:
      return has_version(patch_without_protection(volume), volume.resource_version);
    default:
      return true;  // the preconditions of what is deleted are the workers'
  }
}

}  // namespace

bool names_version(WriteKind kind) {
  static const auto known = [] {
    std::array<bool, 16> named{};
    for (unsigned at = 0; at < named.size(); ++at)
      named.at(at) = names_version_now(static_cast<WriteKind>(at));
    return named;
  }();
  return known.at(static_cast<unsigned>(kind));
}

VolumeCopy copy_object(const CopyBits& bits, unsigned slot) {
  CopyOrder order = sample_order();
  order.volume.copy = kCopyIds[slot];
  order.node = kNodes[bits.node];
  order.node_uid = concat("uid-of-", order.node);
  order.origin = bits.existing != 0 ? Origin::kExisting : Origin::kNew;
  order.desired = static_cast<DesiredState>(bits.desired);
  order.term = bits.term;
  order.reclaim_policy = bits.retain != 0 ? "Retain" : "Delete";
  VolumeCopy copy{.name = copy_name(order),
                  .uid = uid_of_object(bits.uid),
                  .resource_version = "7",
                  .generation = bits.generation,
                  .deleting = false,
                  .given_up = bits.given_up != 0,
                  .order = order,
                  .status = {}};
  copy.status.state = static_cast<CopyState>(bits.state);
  copy.status.promised = bits.promised != 0;
  copy.status.made = bits.made != 0;
  copy.status.used = bits.used != 0;
  copy.status.observed_generation = bits.observed;
  if (bits.trouble != 0)
    copy.status.conditions.push_back({std::string(kAsOrdered), false, "Trouble", "why", {}});
  return copy;
}

bool is_gone(const CopyBits& copy, unsigned slot) {
  return copy.state == static_cast<unsigned>(CopyState::kRemoved) &&
         is_gone_unused(copy_object(copy, slot));
}

// Each is asked once: what plans depend on is in the key.
AgentDecision decide_copy(const CopyBits& copy, unsigned slot, bool fresh, const HostBits& host) {
  static std::array<std::unordered_map<std::uint64_t, AgentDecision>, 4> known;
  CopyBits asked = copy;
  asked.current = 0;
  HostBits seen = host;
  seen.data = 0;
  seen.mounted_since_look = 0;
  seen.made_since_look = 0;
  const std::uint64_t key = bits_of(asked) << 32U | bits_of(seen);
  auto& found = known[slot * 2 + (fresh ? 1 : 0)];
  auto at = found.find(key);
  if (at == found.end()) at = found.emplace(key, decide_copy_now(asked, slot, fresh, seen)).first;
  AgentDecision decision = at->second;
  decision.answered.current = copy.current;
  return decision;
}

CopyBits refused(const CopyBits& copy, unsigned slot, const HostBits& host) {
  return answered(copy, slot, host, {CopyAction::kNone, CopyState::kRefused, CopyTrouble::kRefused},
                  kNoRoomHere);
}

CopyBits troubled(const CopyBits& copy, unsigned slot, const HostBits& host) {
  return answered(copy, slot, host, {CopyAction::kMake, CopyState::kPromised, CopyTrouble::kNone},
                  kNoRoomHere);
}

OrderDecision decide_order(const World& world, Silence silence) {
  static std::array<std::unordered_map<std::uint64_t, OrderDecision>, 3 * 4 * 2 * 128> known;
  CopyBits first = world.ordered[0];
  CopyBits second = world.ordered[1];
  first.current = 0;
  second.current = 0;
  ClaimBits claim = world.known_claim;
  claim.current = 0;
  const std::uint64_t which =
      ((bits_of(claim) * 2 + world.known_volume.there) * 4 + world.term) * 3 +
      static_cast<unsigned>(silence);
  auto& found = known.at(which);
  const std::uint64_t key = bits_of(first) << 32U | bits_of(second);
  auto at = found.find(key);
  if (at == found.end()) at = found.emplace(key, decide_order_now(world, silence)).first;
  return at->second;
}

ReplacementDecision decide_replacement(const World& world, Silence silence) {
  static std::array<std::unordered_map<std::uint64_t, ReplacementDecision>, 3 * 256 * 128> known;
  CopyBits first = world.ordered[0];
  CopyBits second = world.ordered[1];
  ClaimBits claim = world.known_claim;
  VolumeBits volume = world.known_volume;
  first.current = 0;
  second.current = 0;
  claim.current = 0;
  volume.current = 0;
  auto& found =
      known.at((bits_of(claim) * 256 + bits_of(volume)) * 3 + static_cast<unsigned>(silence));
  const std::uint64_t key = bits_of(first) << 32U | bits_of(second);
  auto at = found.find(key);
  if (at == found.end()) at = found.emplace(key, decide_replacement_now(world, silence)).first;
  return at->second;
}

EndDecision decide_end(const VolumeBits& volume, const CopyBits& copy) {
  static std::unordered_map<std::uint64_t, EndDecision> known;
  VolumeBits asked = volume;
  CopyBits of = copy;
  asked.current = 0;
  of.current = 0;
  const std::uint64_t key = bits_of(of) << 32U | bits_of(asked);
  auto at = known.find(key);
  if (at == known.end()) {
    const VolumeCopy object = copy_object(copy, volume.slot);
    const VolumeCopy* const named = copy.there != 0 ? &object : nullptr;
    const Volume of_object = volume_object(volume);
    const EndPlan plan =
        is_to_be_replaced(of_object, named) ? EndPlan() : plan_end(of_object, named);
    at = known.emplace(key, EndDecision{plan.action, plan.desired}).first;
  }
  return at->second;
}

}  // namespace flexlocal::provisioner::test
