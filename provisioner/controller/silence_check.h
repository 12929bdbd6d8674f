// Whether nodes that seem silent are: a watch of Leases that brings nothing any more looks like the
// silence of all nodes at once.
#pragma once

#include <string>
#include <vector>

#include "provisioner/controller/cluster_parts.h"

namespace flexlocal::provisioner {

class SilenceCheck {
 public:
  explicit SilenceCheck(ClusterParts& parts) : parts_(parts) {}

  // look(), now and then, from complete stores on until its task is told to stop.
  Task<void> run();

  // Reads the Leases of nodes that have seemed silent for longer than their Leases allow, by one
  // consistent list, and confirms the silence of those that have not beaten. An Error when the API
  // server could not say: then nobody is taken for silent. No request when no node seems so.
  Task<Status> look();

 private:
  std::vector<std::string> seem_silent() const;

  ClusterParts& parts_;
};

}  // namespace flexlocal::provisioner
