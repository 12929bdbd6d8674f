// Ends the orders that nobody needs any more: of copies that are removed, of claims that are gone
// before they had a PersistentVolume, and of nodes that are gone.
#pragma once

#include <string>

#include "provisioner/controller/ends/copy_owners.h"
#include "provisioner/controller/ends/nodeless_copies.h"
#include "provisioner/controller/ends/orphaned_copy_worker.h"
#include "provisioner/controller/ends/removed_copies.h"
#include "provisioner/controller/ends/unneeded_copy_worker.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class CopyCollector {
 public:
  CopyCollector(const ClusterView& view, const CopyOwners& owners, RemovedCopies& removed,
                NodelessCopies& nodeless, OrphanedCopyWorker& orphans, UnneededCopyWorker& unneeded)
      : view_(view),
        owners_(owners),
        removed_(removed),
        nodeless_(nodeless),
        orphans_(orphans),
        unneeded_(unneeded) {}

  // One pass over the VolumeCopy. Returns after which time it is to be looked at again.
  Task<Requeue> work(const VolumeCopy& copy);
  // A pass would find it as it is to stay, until it or its PersistentVolume changes.
  bool rests(const VolumeCopy& copy) const;
  void forget(const std::string& name) {
    removed_.forget(name);
    orphans_.forget(name);
  }

 private:
  Task<Requeue> work_on_unclaimed(const VolumeCopy& copy);

  const ClusterView& view_;
  const CopyOwners& owners_;
  RemovedCopies& removed_;
  NodelessCopies& nodeless_;
  OrphanedCopyWorker& orphans_;
  UnneededCopyWorker& unneeded_;
};

}  // namespace flexlocal::provisioner
