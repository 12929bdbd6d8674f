// What the cluster role shows of its term.
#pragma once

#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/kube/metrics.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

// What the leader shows while it leads: nodes by the state of their daemon, and the work of the
// client library. All arguments must outlive `metrics`.
void show_cluster(kube::Metrics& metrics, const ClusterView& view, const kube::WorkQueue& queue);

// PersistentVolumes by their phase.
void show_volumes(kube::Metrics& metrics, const ClusterView& view);

}  // namespace flexlocal::provisioner
