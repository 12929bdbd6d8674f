// What to do with a claim: a pure decision over what is known of it.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "provisioner/accounting/room.h"
#include "provisioner/objects/class_parameters.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// Not this node's, not now, or done: the next change of the claim is looked at again.
struct LeaveAlone {};

// What is asked for can be judged without looking at the disk and is in order.
struct Order {
  engine::VolumeName name;
  ClassParameters parameters;
  Bytes requested;
};

// Cannot be done wherever the pod goes; a person must change claim or class. Of marked claims only.
struct Refuse {
  std::string why;
};

// A claim is provisioned as soon as the scheduler has chosen this node, if its class is ours,
// without waiting until kube-controller-manager marks it: a PersistentVolume that is there when
// that comes to the claim is bound at once, which spares it two of its five requests. What is not
// plain then (no class of ours, a volume that is meant for the claim, whatever would be refused) is
// decided when the claim is marked, as every external provisioner does it. Source:
// pkg/controller/volume/persistentvolume/pv_controller.go (syncUnboundClaim)
using ClaimPlan = std::variant<LeaveAlone, Order, Refuse>;

// `storage_class`: nullptr when there is none of that name that is ours.
ClaimPlan plan_claim(const Claim& claim, const StorageClass* storage_class, bool volume_exists,
                     const std::string& node);

// Whether the claim would be bound to the volume if it were looked at now, by whoever meant it so.
bool is_meant_for(const Volume& volume, const Claim& claim);

// What the order asks of the disks.
Promise promise_of(const Order& order);

}  // namespace flexlocal::provisioner
