// What looks after claims without a volume, in a ClusterLab.
#pragma once

#include "provisioner/controller/orders/pending_claim_worker.h"
#include "provisioner/controller/view/cluster_options.h"
#include "test/unit/controller/cluster_lab.h"

namespace flexlocal::provisioner::test {

struct PendingLab {
  explicit PendingLab(ClusterLab& lab, ImmediateBinding immediate = ImmediateBinding::kCentral)
      : placer(lab.api, lab.view, lab.manual, lab.log, lab.work),
        selected(lab.api, lab.view, ClusterRoleOptions().node_lost_after, lab.reporter(), lab.log,
                 lab.work),
        no_room(lab.view, lab.reporter(), {.immediate = immediate}, lab.manual, lab.work),
        worker(lab.view, placer, selected, no_room, immediate) {}

  ImmediatePlacer placer;
  SelectedNodeWorker selected;
  NoRoomReport no_room;
  PendingClaimWorker worker;
};

}  // namespace flexlocal::provisioner::test
