// Which nodes are gone for good, by the API server's own word.
#pragma once

#include <chrono>
#include <string>

#include "provisioner/controller/reclaim/gone_nodes.h"
#include "provisioner/controller/view/node_cache.h"

namespace flexlocal::provisioner {

class NodeAbsence {
 public:
  // `grace`: how long a node must be gone before it is gone for good.
  NodeAbsence(kube::ApiClient& api, NodeCache& nodes, const Clock& clock,
              std::chrono::nanoseconds grace)
      : api_(api), nodes_(nodes), clock_(clock), gone_(grace) {}

  // Whether the API server said twice, with the grace between, that there is no such Node. To be
  // asked again and again.
  Task<Result<bool>> is_gone(const std::string& node);
  // Whether it says so at this moment.
  Task<Result<bool>> is_absent_now(const std::string& node);
  // The watch brought its Node: it was never gone.
  void saw(const std::string& node) { gone_.answered_there(node); }

 private:
  kube::ApiClient& api_;
  NodeCache& nodes_;
  const Clock& clock_;
  GoneNodes gone_;
};

}  // namespace flexlocal::provisioner
