// What to do with a claim: a pure decision over what is known of it.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "provisioner/class_parameters.h"
#include "provisioner/objects.h"
#include "provisioner/room.h"

namespace flexlocal::provisioner {

// Not this node's, not now, or done: the next change of the claim is looked at again.
struct LeaveAlone {};

// What is asked for can be judged without looking at the disk and is in order.
struct Order {
  engine::VolumeName name;
  ClassParameters parameters;
  Bytes requested;
};

// Cannot be done wherever the pod goes; a person must change claim or class.
struct Refuse {
  std::string why;
};

using ClaimPlan = std::variant<LeaveAlone, Order, Refuse>;

// `storage_class`: nullptr when there is none of that name that is ours.
ClaimPlan plan_claim(const Claim& claim, const StorageClass* storage_class, bool volume_exists,
                     const std::string& node);

// What the order asks of the disks.
Promise promise_of(const Order& order);

// The size that the volume really gets, if there is room for it; else kNoSpace with figures, and
// the scheduler should look elsewhere. `room`: room_for() what promise_of() the order says.
Result<Bytes> fit(const Order& order, const std::string& node, const PoolRoom& room);

}  // namespace flexlocal::provisioner
