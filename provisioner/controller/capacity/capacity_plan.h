// How large a volume of a class this node can still make, and when others are to be told.
#pragma once

#include <functional>
#include <vector>

#include "provisioner/accounting/budget.h"
#include "provisioner/accounting/room.h"
#include "provisioner/objects/class_parameters.h"

namespace flexlocal::provisioner {

// The largest volume that a claim of the class could get now: what ClaimWorker would accept, and
// not a byte more. `room`: Accounts::room() of a volume of this size in the class's pool, nameless
// and not there yet; an Error says that there is none.
using RoomForSize = std::function<Result<PoolRoom>(Bytes size)>;
Bytes largest_volume(const ClassParameters& parameters, const NodeBudget& budget, Bytes given,
                     const RoomForSize& room);

// Whether `now` is to be told when `told` was told before. What was taken always is, or claims
// would be sent to where there is no room. What has become free is when it is a hundredth of what
// there is, or when one of the claims that wait, which ask for these sizes, finds room by it.
bool must_tell(Bytes told, Bytes now, const std::function<std::vector<Bytes>()>& waiting);

}  // namespace flexlocal::provisioner
