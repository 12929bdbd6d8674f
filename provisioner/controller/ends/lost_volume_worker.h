// Tidies up the PersistentVolumes of nodes that were deleted, as far as the policy goes.
#pragma once

#include <string>

#include "provisioner/controller/ends/lost_volume_report.h"
#include "provisioner/controller/reclaim/lost_volume_plan.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/node_absence.h"

namespace flexlocal::provisioner {

class LostVolumeWorker {
 public:
  LostVolumeWorker(kube::ApiClient& api, ClusterView& view, NodeAbsence& absence,
                   LostVolumeReport& report, NodeDeletePolicy policy)
      : api_(api), view_(view), absence_(absence), report_(report), policy_(policy) {}

  // One pass over the volume of that name; to be repeated now and then.
  Task<Status> work(const std::string& name);

 private:
  Task<Status> reconcile(const Volume& volume);
  Task<Status> act(const Volume& known, LostVolumePlan plan);
  Task<Status> release(const Volume& volume);

  kube::ApiClient& api_;
  ClusterView& view_;
  NodeAbsence& absence_;
  LostVolumeReport& report_;
  NodeDeletePolicy policy_;
};

}  // namespace flexlocal::provisioner
