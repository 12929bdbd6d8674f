// Reconciles what the scheduler is told of the room on nodes, whenever something changes how much a
// node can be ordered.
#pragma once

#include <string>

#include "provisioner/controller/orders/node_chooser.h"
#include "provisioner/controller/orders/term.h"
#include "provisioner/controller/publish/capacity_publisher.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

class RoomReconciler {
 public:
  // `enabled`: else nothing is told here.
  RoomReconciler(const ClusterView& view, const Term& term, NodeChooser& chooser,
                 CapacityPublisher& publisher, kube::WorkQueue& queue, bool enabled)
      : view_(view),
        term_(term),
        chooser_(chooser),
        publisher_(publisher),
        queue_(queue),
        enabled_(enabled) {}

  // From now on what changes is put into the queue, once the term has begun. Before anything is
  // taken in; it is to be kept as long as the lists are.
  void watch();
  // One pass over what is told of that node.
  Task<Status> work(const std::string& node) { return publisher_.work(node); }
  void enqueue(const std::string& node);
  // What is told of that node's room is told once more, whatever was told last.
  void republish(const std::string& node);

 private:
  const ClusterView& view_;
  const Term& term_;
  NodeChooser& chooser_;
  CapacityPublisher& publisher_;
  kube::WorkQueue& queue_;
  bool enabled_;
};

}  // namespace flexlocal::provisioner
