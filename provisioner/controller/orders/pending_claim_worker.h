// Looks after claims that have no volume yet where no leader gives the orders: has a node selected
// or unassigned, and reports that none has room.
#pragma once

#include <string>

#include "provisioner/controller/orders/immediate_placer.h"
#include "provisioner/controller/orders/no_room_report.h"
#include "provisioner/controller/orders/selected_node_worker.h"

namespace flexlocal::provisioner {

class PendingClaimWorker {
 public:
  // `immediate`: who selects the node of a claim that no scheduler selects one for.
  PendingClaimWorker(const ClusterView& view, ImmediatePlacer& placer, SelectedNodeWorker& selected,
                     NoRoomReport& no_room, ImmediateBinding immediate)
      : view_(view),
        placer_(placer),
        selected_(selected),
        no_room_(no_room),
        immediate_(immediate) {}

  // One pass over the claim "namespace/name"; to be repeated now and then, since most of what it
  // decides on is how much time has passed.
  Task<Status> work(const std::string& key);

 private:
  Task<Status> select_node(const Claim& claim);

  const ClusterView& view_;
  ImmediatePlacer& placer_;
  SelectedNodeWorker& selected_;
  NoRoomReport& no_room_;
  ImmediateBinding immediate_;
};

}  // namespace flexlocal::provisioner
