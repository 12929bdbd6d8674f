// Ends what nobody needs: withdraws the order of a copy, or has a person told of it.
#pragma once

#include "provisioner/controller/ends/copy_owners.h"
#include "provisioner/controller/ends/nodeless_copies.h"
#include "provisioner/controller/ends/orphaned_copy_worker.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/roll.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class UnneededCopyWorker {
 public:
  UnneededCopyWorker(const ClusterView& view, const CopyOwners& owners, Roll& roll, OrderDesk& desk,
                     OrphanedCopyWorker& orphans, NodelessCopies& nodeless)
      : view_(view),
        owners_(owners),
        roll_(roll),
        desk_(desk),
        orphans_(orphans),
        nodeless_(nodeless) {}

  // One pass over a copy that neither claim nor PersistentVolume needs. Returns after which time it
  // is to be looked at again.
  Task<Requeue> end(const VolumeCopy& copy);
  // The same of one that a person is to decide about.
  Task<Requeue> report(const VolumeCopy& copy);

 private:
  const ClusterView& view_;
  const CopyOwners& owners_;
  Roll& roll_;
  OrderDesk& desk_;
  OrphanedCopyWorker& orphans_;
  NodelessCopies& nodeless_;
};

}  // namespace flexlocal::provisioner
