#include "provisioner/controller/orders/order_drafter.h"

#include <algorithm>
#include <utility>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/claim_order.h"
#include "provisioner/controller/reclaim/end_plan.h"
#include "provisioner/objects/pod_memory.h"

namespace flexlocal::provisioner {
namespace {

Error error_of_nameless(const Node& node) {
  return {ErrorCode::kInvalid,
          concat("Node ", node.name, " has no uid or no label ", kHostnameLabel)};
}

bool has_names(const NodeIdentity& node) { return !node.hostname.empty() && !node.uid.empty(); }

}  // namespace

Task<Status> OrderDrafter::resolve_size(const Claim& claim, Order& order) const {
  const ClassParameters& parameters = order.parameters;
  if (parameters.size_from != SizeFrom::kPodMemory) co_return Status();
  const Ratio ratio = parameters.disk_per_ram.value_or(NodeBudget().disk_per_ram);
  const auto size = co_await disk_for_first_pod(api_, claim.namespace_name, claim.name, ratio);
  if (!size) co_return size.error();
  order.requested = std::max(order.requested, *size);
  co_return Status();
}

Result<CopyOrder> OrderDrafter::draft(const Claim& claim, const Order& decided,
                                      const Node& node) const {
  const StorageClass* const storage_class = view_.classes.get(claim.storage_class);
  const NodeIdentity identity = identity_of(node);
  if (storage_class == nullptr || !has_names(identity)) return error_of_nameless(node);
  auto id = draw_copy_id();
  if (!id) return id.error();
  Order rounded = decided;
  rounded.requested = size_on(view_.nodes.view_of(node), promise_of(decided));
  return order_for_claim(rounded, claim, *storage_class, identity, desk_.cluster_id(),
                         std::move(*id));
}

Result<CopyOrder> OrderDrafter::draft_in_place_of(const CopyOrder& given_up, const Claim& claim,
                                                  const Node& node) const {
  const NodeIdentity identity = identity_of(node);
  if (!has_names(identity)) return error_of_nameless(node);
  auto id = draw_copy_id();
  if (!id) return id.error();
  CopyOrder order = given_up;
  order.volume.copy = std::move(*id);
  order.volume.size = size_on(view_.nodes.view_of(node), promise_of(given_up.volume));
  order.node = identity.name;
  order.node_uid = identity.uid;
  order.hostname = identity.hostname;
  order.claim_name = claim.name;
  order.desired = DesiredState::kServing;
  if (const auto volume = view_.volumes.get(order.volume.name.text()))
    order.reclaim_policy = policy_of_order(*volume);
  return order;
}

}  // namespace flexlocal::provisioner
