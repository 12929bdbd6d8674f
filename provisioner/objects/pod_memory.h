// How much memory the pod asks for that a claim is made for: what `sizeFrom: podMemory` goes by.
#pragma once

#include <string>

#include "flexvolume/base/json.h"
#include "provisioner/accounting/budget.h"
#include "provisioner/kube/complete_list.h"

namespace flexlocal::provisioner {

// As the scheduler counts it: containers and sidecars (init containers that are restarted)
// together, or what an init container needs beside the sidecars before it, whichever is more; what
// the pod asks for as a whole goes before the containers' sum; its overhead comes on top. What is
// no quantity counts as nothing, and a fraction of a byte as one. Source: PodRequests in
// staging/src/k8s.io/component-helpers/resource/helpers.go; in 1.20 PodRequestsAndLimits in
// pkg/api/v1/resource/helpers.go. An API server that does not know sidecars or requests of the pod
// as a whole drops these fields, and so does its scheduler.
Bytes memory_requested(JsonView pod);

// Of the oldest pod that uses the claim and has not begun. kNotFound: there is none; kDenied: the
// daemon may not read pods.
Task<Result<Bytes>> memory_of_first_pod(kube::ApiClient& api, const std::string& namespace_name,
                                        const std::string& claim);

// How much disk goes with that memory, for `sizeFrom: podMemory`. Its errors say what to do.
Task<Result<Bytes>> disk_for_first_pod(kube::ApiClient& api, const std::string& namespace_name,
                                       const std::string& claim, Ratio disk_per_ram);

}  // namespace flexlocal::provisioner
