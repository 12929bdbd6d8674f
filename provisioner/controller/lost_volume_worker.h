// Tidies up the PersistentVolumes of nodes that were deleted, as far as the policy goes.
#pragma once

#include <map>
#include <string>

#include "provisioner/controller/cluster_parts.h"
#include "provisioner/controller/reclaim/gone_nodes.h"

namespace flexlocal::provisioner {

class LostVolumeWorker {
 public:
  explicit LostVolumeWorker(ClusterParts& parts)
      : parts_(parts), gone_(parts.options.node_delete_grace) {}

  // One pass over the volume of that name; to be repeated now and then.
  Task<Status> work(const std::string& name);

 private:
  Task<Result<bool>> node_is_absent(const std::string& node);
  Task<Status> look_after(const Volume& volume);
  Task<Status> act(const Volume& known, LostVolumePlan plan);
  Task<Status> let_go(const Volume& volume);
  void tell(const Volume& volume);

  ClusterParts& parts_;
  GoneNodes gone_;
  std::map<std::string, Clock::Instant> told_;
};

}  // namespace flexlocal::provisioner
