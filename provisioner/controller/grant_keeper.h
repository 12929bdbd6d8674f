// Keeps the Secret of the grant keys: makes it once, and puts a new key on top on request.
#pragma once

#include <string>

#include "provisioner/controller/cluster_parts.h"
#include "provisioner/controller/grant_secret_plan.h"

namespace flexlocal::provisioner {

class GrantKeeper {
 public:
  explicit GrantKeeper(ClusterParts& parts) : parts_(parts) {}

  // One look, to be repeated; the list of volumes must be complete. An error is to be tried again.
  Task<Status> look();

 private:
  Task<Status> make();
  Task<Status> rotate(const GrantSecret& secret);
  void tell(const std::optional<GrantSecret>& secret, const std::string& trouble);
  std::size_t signed_volumes() const;

  ClusterParts& parts_;
  std::string told_;
};

}  // namespace flexlocal::provisioner
