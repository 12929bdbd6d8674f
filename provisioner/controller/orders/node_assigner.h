// Which node a claim's volume is ordered of: the one that the scheduler selected, or our own
// choice. Where a node cannot have it, the claim is told, and handed back to the scheduler.
#pragma once

#include <string>

#include "provisioner/controller/orders/no_room_report.h"
#include "provisioner/controller/orders/node_chooser.h"
#include "provisioner/controller/orders/provisioning_report.h"
#include "provisioner/controller/orders/selected_node_worker.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class NodeAssigner {
 public:
  NodeAssigner(const ClusterView& view, NodeChooser& chooser, SelectedNodeWorker& selected,
               NoRoomReport& no_room, ProvisioningReport& report)
      : view_(view), chooser_(chooser), selected_(selected), no_room_(no_room), report_(report) {}

  struct Assignment {
    // To be used before the next co_await. nullptr: none can have it now.
    const Node* node = nullptr;
    // After which time a claim without one is looked at again; nullopt: when something changes.
    RequeueAfter requeue{};
  };
  // `order`: what `claimed`, what the claim itself asks for, has become.
  Task<Result<Assignment>> assign(const Claim& claim, const Order& order, const Order& claimed);
  // The node cannot have it: the scheduler looks for another one, or we do.
  Task<Status> refuse(const Claim& claim, const std::string& node, const std::string& why);
  // Of a claim that nothing is ordered for: tells it where no node has room and none is selected.
  void report_no_room(const Claim& claim);
  // There is no such claim any more.
  void forget(const std::string& claim);

 private:
  bool waits_for_node(const Claim& claim) const;

  const ClusterView& view_;
  NodeChooser& chooser_;
  SelectedNodeWorker& selected_;
  NoRoomReport& no_room_;
  ProvisioningReport& report_;
};

}  // namespace flexlocal::provisioner
