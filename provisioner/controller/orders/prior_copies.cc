#include "provisioner/controller/orders/prior_copies.h"

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/claim_order.h"

namespace flexlocal::provisioner {
namespace {

// For so long nothing is said of a roll call: where all is well it takes one heartbeat.
constexpr auto kRollReportAfter = kHeartbeatInterval + std::chrono::seconds(5);
constexpr auto kRollReportInterval = std::chrono::minutes(1);
// What waits for a person.
constexpr auto kRequeueAfter = std::chrono::seconds(10);
// What waits for the roll call.
constexpr auto kSoon = std::chrono::seconds(1);

}  // namespace

Task<Result<PriorCopies::Answer>> PriorCopies::look_for(const Claim& claim, const Order& decided) {
  Answer answer;
  const auto found = view_.unordered().of_claim(claim);
  if (!found && is_others_to_order(claim)) co_return answer;
  if (!roll_.is_over()) {
    wait_for_roll(claim);
    answer.requeue = kSoon;
    co_return answer;
  }
  const auto held = hold_for_another(claim);
  const bool is_unknown = held && *held == kSoon;
  if (!found || is_unknown) {
    answer.are_none = !held;
    answer.requeue = held;
    co_return answer;
  }
  UnorderedCopies::Found there = *found;
  there.alone = there.alone && !held;
  auto adopted = co_await adopt(claim, decided, there);
  if (!adopted && adopted.error().code() == ErrorCode::kInvalid)
    report_.report_failed(claim, adopted.error().message());
  if (!adopted) co_return adopted.error();
  co_return answer;
}

// What nodes say may have changed meanwhile.
Task<Result<bool>> PriorCopies::are_still_none(const Claim& claim) {
  auto confirmed = co_await roll_.confirm();
  if (!confirmed) co_return confirmed.error();
  const bool are_none = roll_.is_over() && !view_.unordered().of_claim(claim);
  co_return are_none;
}

// What another node may have of the claim, as far as it is not among our own lists. After which
// time it is looked at again; nullopt: nothing.
RequeueAfter PriorCopies::hold_for_another(const Claim& claim) {
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
bool PriorCopies::is_others_to_order(const Claim& claim) const {
  return view_.is_of_one_node() && claim.selected_node != view_.own_node;
}

// The API server may have forgotten the other one.
RequeueAfter PriorCopies::check_beside(const Claim& claim, const VolumeCopy& copy) {
  if (copy.order->term >= desk_.term() || copy.order->origin != Origin::kNew) return std::nullopt;
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
void PriorCopies::wait_for_roll(const Claim& claim) {
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
Task<Status> PriorCopies::adopt(const Claim& claim, const Order& decided,
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
  if (given) report_.report_adopted(claim, order);
  co_return given;
}

}  // namespace flexlocal::provisioner
