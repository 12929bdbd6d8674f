#include "provisioner/controller/orders/no_room_report.h"

#include <variant>
#include <vector>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/kube/backoff.h"

namespace flexlocal::provisioner {
namespace {

// Between two events of the same words, doubling; the recorder counts them as one.
constexpr kube::BackoffOptions kRepeat{std::chrono::minutes(1), std::chrono::minutes(15)};

}  // namespace

// One that is not marked is ours if its class is, and its node's choice is looked after when it is.
bool NoRoomReport::concerns(const Claim& claim) const {
  if (claim.deleting || !claim.volume_name.empty()) return false;
  return claim.marked ||
         (claim.selected_node.empty() && view_.classes.get(claim.storage_class) != nullptr);
}

void NoRoomReport::report(const Claim& claim) {
  const auto text = concerns(claim) ? no_room(claim) : std::nullopt;
  if (!text) {
    reported_.erase(claim.key());
    return;
  }
  const auto now = clock_.now();
  Reported& reported =
      reported_.try_emplace(claim.key(), Reported{.since = now, .text = {}}).first->second;
  if (now - reported.since < options_.after) return;
  const bool changed = reported.text != *text;
  if (!changed && now < reported.next) return;
  if (changed) reported.times = 0;
  reported.text = *text;
  reported.next = now + kube::backoff_delay(kRepeat, reported.times++);
  work_.no_room_told.with({}).add();
  events_.record(claim, kube::EventType::kWarning, "ProvisioningFailed", *text);
}

// A claim that no node could serve is for the node daemon to refuse, if one gets it: the scheduler
// sends no claim where it is told of no room, and one that does not wait for a pod is sent nowhere;
// then nobody else would say why.
std::optional<std::string> NoRoomReport::no_room(const Claim& claim) const {
  const StorageClass* storage_class = view_.classes.get(claim.storage_class);
  Claim marked = claim;
  marked.marked = true;
  const ClaimPlan plan = plan_claim(marked, storage_class, false, claim.selected_node);
  const bool immediate = storage_class != nullptr && storage_class->immediate;
  if (const auto* refusal = std::get_if<Refuse>(&plan))
    return claim.marked && !immediate ? std::nullopt : std::optional(refusal->why);
  const auto* order = std::get_if<Order>(&plan);
  if (order == nullptr) return std::nullopt;
  if (immediate && options_.immediate == ImmediateBinding::kOff)
    return concat("StorageClass ", storage_class->name,
                  " has volumeBindingMode Immediate, which this installation has switched off "
                  "(--immediate=off); use a class with WaitForFirstConsumer");
  std::vector<NodeView> nodes;
  view_.nodes.for_each([&](const std::string&, const Node& node) {
    if (!is_allowed(*storage_class, node)) return;
    nodes.push_back(view_.nodes.view_of(node));
    if (immediate) nodes.back().barred = bar_on(nodes.back());
  });
  return no_room_anywhere(nodes, {promise_of(*order), order->parameters.disk_per_ram});
}

// Where the scheduler chooses the node, the claim is told when that is handed back.
std::optional<NoRoom> NoRoomReport::bar_on(const NodeView& node) const {
  if (view_.scope != Scope::kAllNodes) return std::nullopt;
  if (!view_.orders_for(node.node.name)) return NoRoom::kOrdersItself;
  return node.carries_out() ? std::nullopt : std::optional(NoRoom::kNoOrders);
}

}  // namespace flexlocal::provisioner
