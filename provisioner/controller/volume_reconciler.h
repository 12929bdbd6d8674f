// Reconciles PersistentVolumes: what is desired of their copies, and the end of those whose node is
// gone.
#pragma once

#include <string>

#include "provisioner/controller/ends/lost_volume_worker.h"
#include "provisioner/controller/ends/volume_end_worker.h"
#include "provisioner/controller/orders/term.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/restless.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

class VolumeReconciler {
 public:
  VolumeReconciler(const ClusterView& view, const Term& term, VolumeEndWorker& ends,
                   LostVolumeWorker& lost, kube::WorkQueue& queue)
      : view_(view), term_(term), ends_(ends), lost_(lost), queue_(queue) {}

  // One pass over the PersistentVolume of that name.
  Task<Status> work(const std::string& name);
  // After a change of it or of its copy, which may have to be followed up.
  void notice(const std::string& name) { restless_.insert(name); }
  // Puts into the queue what time alone changes; all are looked at by gather_restless() for which
  // those are.
  void scan();
  void gather_restless();

 private:
  // A pass would find it as it is to stay, until it or its copy changes.
  bool rests(const Volume& volume) const;
  Task<Status> work_on_order(const std::string& name, bool has_node);

  const ClusterView& view_;
  const Term& term_;
  VolumeEndWorker& ends_;
  LostVolumeWorker& lost_;
  kube::WorkQueue& queue_;
  Restless restless_;
};

}  // namespace flexlocal::provisioner
