// Whether nodes that seem silent are: a watch of Leases that brings nothing any more looks like the
// silence of all nodes at once.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "provisioner/controller/view/node_cache.h"

namespace flexlocal::provisioner {

class SilenceCheck {
 public:
  // `interval`: between two looks.
  SilenceCheck(kube::ApiClient& api, NodeCache& nodes, Log& log, std::chrono::nanoseconds interval)
      : api_(api), nodes_(nodes), log_(log), interval_(interval) {}

  // look(), now and then, from complete stores on until its task is told to stop.
  Task<void> run();

  // Reads the Leases of nodes that have seemed silent for longer than their Leases allow, by one
  // consistent list, and confirms the silence of those that have not beaten. An Error when the API
  // server could not say: then nobody is taken for silent. No request when no node seems so.
  Task<Status> look();

 private:
  std::vector<std::string> seem_silent() const;

  kube::ApiClient& api_;
  NodeCache& nodes_;
  Log& log_;
  std::chrono::nanoseconds interval_;
};

}  // namespace flexlocal::provisioner
