// Which nodes are gone for good, by the API server's own word.
#pragma once

#include <string>

#include "provisioner/controller/cluster_parts.h"
#include "provisioner/controller/reclaim/gone_nodes.h"

namespace flexlocal::provisioner {

class NodeAbsence {
 public:
  explicit NodeAbsence(ClusterParts& parts)
      : parts_(parts), gone_(parts.options.node_delete_grace) {}

  // Whether the API server said twice, with the grace between, that there is no such Node. To be
  // asked again and again.
  Task<Result<bool>> is_gone(const std::string& node);
  // Whether it says so at this moment.
  Task<Result<bool>> is_absent_now(const std::string& node);
  // The watch brought its Node: it was never gone.
  void saw(const std::string& node) { gone_.answered_there(node); }

 private:
  ClusterParts& parts_;
  GoneNodes gone_;
};

}  // namespace flexlocal::provisioner
