// The pods that use a claim.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/json.h"
#include "provisioner/kube/complete_list.h"

namespace flexlocal::provisioner {

// Whether one of its volumes is the claim, also one that was made for the pod (ephemeral).
bool uses_claim(JsonView pod, std::string_view claim);

// The pods that use the claim and are bound to the node, by name, at most `most` of them. kDenied:
// the daemon may not read pods.
Task<Result<std::vector<std::string>>> pods_on_node(kube::ApiClient& api,
                                                    const std::string& namespace_name,
                                                    const std::string& claim,
                                                    const std::string& node, std::size_t most);

}  // namespace flexlocal::provisioner
