#include "provisioner/controller/orders/order_planner.h"

#include <algorithm>

namespace flexlocal::provisioner {
namespace {

bool has_to_go(const KnownCopy& copy) { return copy->order && is_to_go(copy->order->desired); }

}  // namespace

OrderPlan OrderPlanner::plan(const Claim& claim) const {
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

// Until kube-controller-manager annotates the claim with a provisioner, it may still bind it to an
// existing PersistentVolume.
bool OrderPlanner::has_volume(const Claim& claim) const {
  if (view_.volumes.get(volume_of_claim(claim.uid)) != nullptr) return true;
  return !claim.marked && unmatched_.have_one_for(claim);
}

bool OrderPlanner::is_immediate(const Claim& claim) const {
  const StorageClass* const known = view_.classes.get(claim.storage_class);
  return known != nullptr && known->immediate && claim.marked &&
         immediate_ == ImmediateBinding::kCentral;
}

}  // namespace flexlocal::provisioner
