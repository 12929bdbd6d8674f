// Tidies up the PersistentVolumes of nodes that were deleted, as far as the policy goes.
#pragma once

#include <string>
#include <utility>

#include "provisioner/controller/cluster_view.h"
#include "provisioner/controller/cluster_work.h"
#include "provisioner/controller/event_reporter.h"
#include "provisioner/controller/node_absence.h"
#include "provisioner/controller/reclaim/lost_volume_plan.h"

namespace flexlocal::provisioner {

class LostVolumeWorker {
 public:
  LostVolumeWorker(kube::ApiClient& api, ClusterView& view, NodeAbsence& absence,
                   NodeDeletePolicy policy, EventReporter events, Log& log, ClusterWork& work)
      : api_(api),
        view_(view),
        absence_(absence),
        policy_(policy),
        events_(std::move(events)),
        log_(log),
        work_(work) {}

  // One pass over the volume of that name; to be repeated now and then.
  Task<Status> work(const std::string& name);

 private:
  Task<Status> reconcile(const Volume& volume);
  Task<Status> act(const Volume& known, LostVolumePlan plan);
  Task<Status> release(const Volume& volume);
  void report(const Volume& volume);

  kube::ApiClient& api_;
  ClusterView& view_;
  NodeAbsence& absence_;
  NodeDeletePolicy policy_;
  EventReporter events_;
  Log& log_;
  ClusterWork& work_;
};

}  // namespace flexlocal::provisioner
