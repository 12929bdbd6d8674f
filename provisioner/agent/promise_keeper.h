// Withdraws what this host promised and nobody will ever come for: a claim that was deleted while
// its volume was being made, or a daemon that was killed before it could take its word back.
#pragma once

#include <chrono>
#include <vector>

#include "provisioner/agent/node_parts.h"

namespace flexlocal::provisioner {

// Those of this cluster for which there is neither a claim that may still get its volume here, nor
// a PersistentVolume. Both lists must be complete.
std::vector<engine::PromisedVolume> stale_promises(const engine::Inventory& inventory,
                                                   const NodeParts& parts);

class PromiseKeeper {
 public:
  explicit PromiseKeeper(NodeParts& parts) : parts_(parts) {}

  // Looks once an interval until its task is told to stop.
  Task<void> run(std::chrono::seconds interval);
  // One look, on the server's own word that there is no PersistentVolume.
  Task<Status> look();

 private:
  NodeParts& parts_;
};

}  // namespace flexlocal::provisioner
