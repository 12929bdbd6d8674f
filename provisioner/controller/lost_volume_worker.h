// Tidies up the PersistentVolumes of nodes that were deleted, as far as the policy goes.
#pragma once

#include <string>

#include "provisioner/controller/cluster_parts.h"
#include "provisioner/controller/node_absence.h"
#include "provisioner/work/news_filter.h"

namespace flexlocal::provisioner {

class LostVolumeWorker {
 public:
  LostVolumeWorker(ClusterParts& parts, NodeAbsence& absence) : parts_(parts), absence_(absence) {}

  // One pass over the volume of that name; to be repeated now and then.
  Task<Status> work(const std::string& name);

 private:
  Task<Status> look_after(const Volume& volume);
  Task<Status> act(const Volume& known, LostVolumePlan plan);
  Task<Status> let_go(const Volume& volume);
  void tell(const Volume& volume);

  ClusterParts& parts_;
  NodeAbsence& absence_;
  NewsFilter news_;  // by PersistentVolume
};

}  // namespace flexlocal::provisioner
