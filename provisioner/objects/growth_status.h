// What a claim's status says about the growth of its volume, and the merge patches that bring it to
// what is: capacity, conditions and, since Kubernetes 1.32, allocatedResources and
// allocatedResourceStatuses.
#pragma once

#include <string>

#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// A value of status.allocatedResourceStatuses: the expand controller has begun and not ended.
inline constexpr std::string_view kControllerResizeInProgress = "ControllerResizeInProgress";

// Returns the quantity for status.allocatedResources.storage; empty if the claim's status has no
// such field, which then stays out. Quota charges the larger of it and the request
// (pkg/quota/v1/evaluator/core/persistent_volume_claims.go, getStorageUsage), so it is never more
// than the volume has, and the request itself, unrounded, if the volume has just that.
//
// `has`: what the volume offers. `as_requested`: that is the request, rounded up to whole extents.
// A volume that an earlier try extended further keeps the surplus, and is charged for it.
std::string allocated_for(const Claim& claim, Bytes has, bool as_requested);

// True if the status says what pending_body() would write.
bool says_pending(const Claim& claim, const std::string& allocated);

// True if the status says what failed_body() would write, or if the API server has none of the
// fields that it writes: then the event alone tells of the failure.
bool says_failed(const Claim& claim, const std::string& allocated, Bytes has);

// The merge patches, guarded by the version of `claim`. `allocated`: as allocated_for() returned
// it. The volume and its file system have grown: nothing is in progress any more.
std::string complete_body(const Claim& claim, Bytes size, const std::string& allocated);
// The volume has grown, and its file system grows at the next mount.
std::string pending_body(const Claim& claim, const std::string& allocated, Clock::Wall now);
// The volume keeps what it has. By this status the expand controller takes the next request, larger
// or smaller, for what it is, and not for what it remembers in allocatedResources
// (pkg/volume/util/operationexecutor/operation_generator.go, expandAndRecoverFunction).
std::string failed_body(const Claim& claim, const std::string& allocated, Bytes has,
                        Clock::Wall now);

}  // namespace flexlocal::provisioner
