#include "provisioner/controller/order_worker.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/claim_order.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/pod_memory.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// For so long nothing is said of a roll call: where all is well it takes one heartbeat.
constexpr auto kRollReportAfter = kHeartbeatInterval + std::chrono::seconds(5);
constexpr auto kRollReportInterval = std::chrono::minutes(1);
// What waits for a person.
constexpr auto kRequeueAfter = std::chrono::seconds(10);
// Of a daemon that may just be starting.
constexpr auto kSoon = std::chrono::seconds(1);

// What passes by itself, or is looked after by SelectedNodeWorker.
bool is_to_be_waited_for(NoRoom reason) {
  return reason == NoRoom::kNodeUnready || reason == NoRoom::kNoDaemon;
}

bool has_to_go(const KnownCopy& copy) { return copy->order && is_to_go(copy->order->desired); }

}  // namespace

// Until kube-controller-manager annotates the claim with a provisioner, it may still bind it to an
// existing PersistentVolume.
bool OrderWorker::has_volume(const Claim& claim) const {
  if (view_.volumes.get(volume_of_claim(claim.uid)) != nullptr) return true;
  return !claim.marked && unmatched_.have_one_for(claim);
}

Task<Requeue> OrderWorker::work(const std::string& key) {
  const auto known = view_.claims.get(key);
  if (known == nullptr) {
    chooser_.forget(key);
    report_.forget(key);
    no_room_.forget(key);
    co_return std::nullopt;
  }
  const Claim claim = *known;  // the store may change while we wait
  const OrderPlan planned = plan(claim);
  auto carried = co_await carry_out(claim, planned);
  co_return carried;
}

OrderPlan OrderWorker::plan(const Claim& claim) const {
  ClaimSituation now{.claim = claim,
                     .storage_class = view_.classes.get(claim.storage_class),
                     .volume_exists = has_volume(claim),
                     .copies = view_.copies.of_volume(volume_of_claim(claim.uid)),
                     .holding = view_.copies.holding(claim.key()),
                     .in_doubt = roll_.leaves_doubt(),
                     .term = desk_.term(),
                     .node = claim.selected_node};
  now.unanswered_for = view_.copies.unanswered_for(now.copies);
  // Which node is chosen when it is ordered. A node that was tried before may never say that
  // nothing is left there.
  if (now.node.empty() && is_immediate(claim) && std::ranges::all_of(now.copies, has_to_go))
    now.node = "?";
  return plan_order(now);
}

Task<Requeue> OrderWorker::carry_out(const Claim& claim, const OrderPlan& plan) {
  Status done;
  switch (plan.action) {
    case OrderAction::kNone:
      // No scheduler chooses a node where none has room.
      if (waits_for_node(claim)) no_room_.report(claim);
      break;
    case OrderAction::kWait: {
      const auto asked =
          plan.copy == nullptr ? std::nullopt : view_.copies.unanswered_for(*plan.copy);
      if (asked && *asked < kOrderTimeout) co_return kOrderTimeout - *asked;
      break;
    }
    case OrderAction::kRefuse:
      report_.report_failed(claim, plan.why);
      done = Error(ErrorCode::kInvalid, plan.why);
      break;
    case OrderAction::kUnassign:
      done = co_await refuse_node(claim, claim.selected_node, plan.why);
      break;
    case OrderAction::kGiveOrder: {
      const Order order = *plan.order;
      auto given = co_await give(claim, order);
      co_return given;
    }
    case OrderAction::kWithdraw: {
      const VolumeCopy copy = *plan.copy;
      done = co_await withdraw(claim, copy, plan.why);
      break;
    }
    case OrderAction::kBind: {
      const VolumeCopy copy = *plan.copy;
      if (const std::string cut = desk_.cut_of(copy.name); !cut.empty()) {
        done = co_await withdraw(claim, copy, cut);
        break;
      }
      if (copy.order->term < desk_.term() && copy.order->origin == Origin::kNew) {
        if (const auto after = check_other_copies(claim, copy)) co_return after;
      }
      done = co_await binder_.bind(claim, copy);
      break;
    }
    case OrderAction::kReport:
      report_.record(claim, kube::EventType::kWarning, plan.reason, plan.why);
      break;
  }
  if (!done) co_return done.error();
  co_return std::nullopt;
}

Task<Requeue> OrderWorker::give(const Claim& claim, const Order& decided) {
  const auto found = view_.unordered().of_claim(claim);
  if (!found && is_others_to_order(claim)) co_return std::nullopt;
  if (!roll_.is_over()) {
    wait_for_roll(claim);
    co_return kSoon;
  }
  const auto held = hold_for_another(claim);
  if (held && *held == kSoon) co_return held;
  if (found) {
    UnorderedCopies::Found there = *found;
    there.alone = there.alone && !held;
    auto taken = co_await adopt(claim, decided, there);
    if (!taken && taken.error().code() == ErrorCode::kInvalid)
      report_.report_failed(claim, taken.error().message());
    if (!taken) co_return taken.error();
    co_return std::nullopt;
  }
  if (held) co_return held;
  Order order = decided;
  auto sized = co_await resolve_size(claim, order);
  if (!sized) {
    report_.report_failed(claim, sized.error().message());
    co_return sized.error();
  }
  auto confirmed = co_await roll_.confirm();
  if (!confirmed) co_return confirmed.error();
  // What nodes say may have changed meanwhile.
  if (!roll_.is_over() || view_.unordered().of_claim(claim)) co_return kSoon;
  const bool immediate = claim.selected_node.empty();
  const std::string name = immediate ? chooser_.choose(claim, order) : claim.selected_node;
  if (name.empty()) {
    no_room_.report(claim);
    co_return std::nullopt;
  }
  const Node* const node = view_.nodes.get(name);
  const auto reason = node == nullptr
                          ? std::optional(NoRoom::kNoDaemon)
                          : no_room_on(view_.nodes.view_of(*node),
                                       {promise_of(order), order.parameters.disk_per_ram});
  if (reason && is_to_be_waited_for(*reason)) {
    Status looked;
    if (claim.marked) looked = co_await selected_.check(claim);
    if (!looked) co_return looked.error();
    co_return kSoon;
  }
  if (const auto why = chooser_.objection_to(claim, order, *node)) {
    if (order.requested > decided.requested) chooser_.hide_room(claim, decided, *node);
    auto refused = co_await refuse_node(claim, name, *why);
    if (!refused) co_return refused.error();
    co_return std::nullopt;
  }
  auto copy = order_for(claim, order, *node);
  if (!copy) co_return copy.error();
  const auto begun = chooser_.begin_order(*copy);
  auto given = co_await desk_.give(*copy);
  chooser_.end_order(begun);
  if (!given && given.error().code() == ErrorCode::kInvalid)
    report_.report_failed(claim, given.error().message());
  if (!given) co_return given.error();
  if (immediate) report_.count_placed();
  log_.info("copy ordered", {{"namespace", claim.namespace_name},
                             {"claim", claim.name},
                             {"volume", order.name.text()},
                             {"node", name}});
  co_return std::chrono::nanoseconds(kOrderTimeout);
}

// What another node may have of the claim, as far as it is not among our own lists. After which
// time it is looked at again; nullopt: nothing.
RequeueAfter OrderWorker::hold_for_another(const Claim& claim) {
  const auto elsewhere = roll_.elsewhere(claim);
  if (!elsewhere) return std::nullopt;
  if (elsewhere->empty()) {
    wait_for_roll(claim);
    return kSoon;
  }
  report_.record(
      claim, kube::EventType::kNormal, "WaitingForNodes",
      concat("no new volume is made for the claim on node ", view_.own_node, ": ", *elsewhere));
  return kRequeueAfter;
}

// A controller of one node orders nothing elsewhere, though it may have a copy for that claim.
bool OrderWorker::is_others_to_order(const Claim& claim) const {
  return view_.is_of_one_node() && claim.selected_node != view_.own_node;
}

// An order of an earlier leader is answered by its node alone: the volume may be on another, and
// the API server may have forgotten that. nullopt: it can be bound.
RequeueAfter OrderWorker::check_other_copies(const Claim& claim, const VolumeCopy& copy) {
  if (!roll_.is_over()) {
    wait_for_roll(claim);
    return kSoon;
  }
  if (const auto held = hold_for_another(claim)) return held;
  const auto found = view_.unordered().of_claim(claim);
  if (!found || !found->of_this_claim) return std::nullopt;
  report_.record(
      claim, kube::EventType::kWarning, "VolumeRetained",
      concat("node ", found->node.name,
             " has a volume of this claim that no VolumeCopy names (copy ", found->copy.volume.copy,
             "), and node ", copy.order->node, " was ordered to make one (VolumeCopy ", copy.name,
             "): none is bound before a person has looked at both, and has set the order's "
             "spec.desiredState to Removed"));
  return kRequeueAfter;
}

// A new leader waits for a heartbeat of each node; what takes longer is said. Which nodes it waits
// for changes with each of their beats, and any number of claims may wait.
void OrderWorker::wait_for_roll(const Claim& claim) {
  constexpr std::string_view reason = "WaitingForNodes";
  if (roll_.lasted() < kRollReportAfter || !report_.is_due(claim, reason, kRollReportInterval))
    return;
  report_.record(claim, kube::EventType::kNormal, reason,
                 concat("no new volume is made before all nodes have said which ones they have: ",
                        roll_.words()));
}

// What is on a node and no order names is kept until a person chooses. Where the API server was put
// back, the claim's own volume serves it again, if there is no doubt which it is: without a
// put-back a node could draw claims to itself.
Task<Status> OrderWorker::adopt(const Claim& claim, const Order& decided,
                                const UnorderedCopies::Found& found) {
  CopyOrder order = order_to_keep(found, desk_.cluster_id());
  const StorageClass* const storage_class = view_.classes.get(claim.storage_class);
  if (found.of_this_claim && storage_class != nullptr) {
    order = order_for_claim(decided, claim, *storage_class, found.node, desk_.cluster_id(),
                            found.copy.volume.copy);
    order_as_found(found.copy, order);
    const bool serves = roll_.was_put_back() && found.copy.ready && found.alone;
    order.desired = serves ? DesiredState::kServing : DesiredState::kRetained;
  }
  const std::string holds = found.of_this_claim ? std::string() : claim.key();
  auto given = co_await desk_.give(order, holds);
  if (given)
    log_.warning("a volume that no order named is ordered as it is there",
                 {{"namespace", claim.namespace_name},
                  {"claim", claim.name},
                  {"volume", order.volume.name.text()},
                  {"node", order.node}});
  co_return given;
}

// What the class leaves to the memory of the pod.
Task<Status> OrderWorker::resolve_size(const Claim& claim, Order& order) const {
  const ClassParameters& parameters = order.parameters;
  if (parameters.size_from != SizeFrom::kPodMemory) co_return Status();
  const Ratio ratio = parameters.disk_per_ram.value_or(NodeBudget().disk_per_ram);
  const auto size = co_await disk_for_first_pod(api_, claim.namespace_name, claim.name, ratio);
  if (!size) co_return size.error();
  order.requested = std::max(order.requested, *size);
  co_return Status();
}

Result<CopyOrder> OrderWorker::order_for(const Claim& claim, const Order& decided,
                                         const Node& node) const {
  const StorageClass* const storage_class = view_.classes.get(claim.storage_class);
  const NodeIdentity identity = identity_of(node);
  if (storage_class == nullptr || identity.hostname.empty() || identity.uid.empty())
    return Error(ErrorCode::kInvalid,
                 concat("Node ", node.name, " has no uid or no label ", kHostnameLabel));
  auto id = draw_copy_id();
  if (!id) return id.error();
  Order rounded = decided;
  rounded.requested = size_on(view_.nodes.view_of(node), promise_of(decided));
  return order_for_claim(rounded, claim, *storage_class, identity, desk_.cluster_id(),
                         std::move(*id));
}

Task<Status> OrderWorker::withdraw(const Claim& claim, const VolumeCopy& copy,
                                   const std::string& why) {
  // A PersistentVolume of it may be there that the watch has not brought yet.
  if (copy.status.promised) {
    const std::string path = volume_path(copy.order->volume.name.text());
    const auto volume = co_await api_.get(path);
    if (!volume && volume.error().code() != ErrorCode::kNotFound)
      co_return volume.error().context("looking whether there is a PersistentVolume");
    if (volume) {
      view_.volumes.put(volume->root());
      co_return Status();
    }
  }
  const std::string node = copy.order->node;
  auto ordered = co_await desk_.order(copy, DesiredState::kWithdrawn);
  if (!ordered) co_return ordered;
  log_.info("order withdrawn", {{"namespace", claim.namespace_name},
                                {"claim", claim.name},
                                {"copy", copy.name},
                                {"node", node},
                                {"why", why}});
  if (why.empty()) co_return Status();
  auto refused = co_await refuse_node(claim, node, why);
  co_return refused;
}

// The scheduler looks for another node, or we do.
Task<Status> OrderWorker::refuse_node(const Claim& claim, const std::string& node,
                                      const std::string& why) {
  chooser_.refused(claim, node);
  // By the mark the policies know it for ours; that it comes is a change of the claim.
  if (claim.selected_node == node && !claim.marked) co_return Status();
  report_.count_failed(claim);
  if (claim.selected_node == node) {
    auto taken = co_await selected_.unassign(claim, why);
    co_return taken;
  }
  report_.record(claim, kube::EventType::kWarning, "ProvisioningFailed",
                 concat(why, "; another node is looked for"));
  co_return Status();
}

bool OrderWorker::waits_for_node(const Claim& claim) const {
  return claim.selected_node.empty() &&
         view_.copies.of_volume(volume_of_claim(claim.uid)).empty() &&
         view_.volumes.get(volume_of_claim(claim.uid)) == nullptr;
}

bool OrderWorker::is_immediate(const Claim& claim) const {
  const StorageClass* const known = view_.classes.get(claim.storage_class);
  return known != nullptr && known->immediate && claim.marked &&
         immediate_ == ImmediateBinding::kCentral;
}

}  // namespace flexlocal::provisioner
