// Drafts what is ordered of a node for a claim, by what the claim, its class and the node say.
#pragma once

#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/objects/copy_order.h"

namespace flexlocal::provisioner {

class OrderDrafter {
 public:
  OrderDrafter(kube::ApiClient& api, const ClusterView& view, const OrderDesk& desk)
      : api_(api), view_(view), desk_(desk) {}

  // Raises the order's size to what the class leaves to the memory of the claim's pod.
  Task<Status> resolve_size(const Claim& claim, Order& order) const;
  // A new copy on that node. kInvalid: the claim's class is gone, or the Node lacks what an order
  // names it by.
  Result<CopyOrder> draft(const Claim& claim, const Order& decided, const Node& node) const;
  // One in place of a copy that was given up, by what the claim and its PersistentVolume say by
  // now, which may have changed since that was ordered. kInvalid as above.
  Result<CopyOrder> draft_in_place_of(const CopyOrder& given_up, const Claim& claim,
                                      const Node& node) const;

 private:
  kube::ApiClient& api_;
  const ClusterView& view_;
  const OrderDesk& desk_;
};

}  // namespace flexlocal::provisioner
