// Ends the wait of a claim for the copy that was ordered for it: binds what its node promised, or
// withdraws the order.
#pragma once

#include <string>

#include "provisioner/controller/orders/node_assigner.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/orders/prior_copies.h"
#include "provisioner/controller/orders/volume_binder.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class ClaimBinder {
 public:
  ClaimBinder(PriorCopies& prior, VolumeBinder& binder, OrderDesk& desk, NodeAssigner& assigner)
      : prior_(prior), binder_(binder), desk_(desk), assigner_(assigner) {}

  // Makes the PersistentVolume. Returns after which time the claim is to be looked at again, where
  // something else is to be known first. Withdraws an order of which the API server kept a part.
  Task<Requeue> bind(const Claim& claim, const VolumeCopy& copy);
  // Withdraws the order of a copy that no pod has had, unless it has a PersistentVolume by now.
  // `why` its node is refused, for the claim; empty: it is not.
  Task<Status> withdraw(const Claim& claim, const VolumeCopy& copy, const std::string& why);

 private:
  PriorCopies& prior_;
  VolumeBinder& binder_;
  OrderDesk& desk_;
  NodeAssigner& assigner_;
};

}  // namespace flexlocal::provisioner
