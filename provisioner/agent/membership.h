// Who a node is to its cluster: what the API server is asked before a node's daemon can begin.
#pragma once

#include <optional>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/kube/api.h"
#include "provisioner/objects/node_object.h"

namespace flexlocal::provisioner {

struct Membership {
  NodeIdentity node;
  std::string cluster_id;  // uid of the namespace kube-system: there is one, and it never changes
  std::optional<Bytes> memory{};  // of the node; see memory_of()
};

// Asks the API server. kNotFound when there is no such Node, or it has no hostname label.
kube::Task<Result<Membership>> load_membership(kube::ApiClient& api, const std::string& node);

// The same; a server that has too much to do and says when it may be asked again is asked again
// then. One that cannot be reached is not, for that is most often a wrong address. Cancelled, it
// ends at once.
kube::Task<Result<Membership>> await_membership(kube::ApiClient& api, const std::string& node,
                                                Log& log);

}  // namespace flexlocal::provisioner
