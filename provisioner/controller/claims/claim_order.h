// The order of a copy for a claim, by what the claim, its class and the chosen node say.
#pragma once

#include <string>

#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/objects/copy_order.h"
#include "provisioner/objects/node_object.h"

namespace flexlocal::provisioner {

// Of `copy`, with the size that was decided.
CopyOrder order_for_claim(const Order& decided, const Claim& claim,
                          const StorageClass& storage_class, const NodeIdentity& node,
                          const std::string& cluster_id, std::string copy);

}  // namespace flexlocal::provisioner
