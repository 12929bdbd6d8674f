// Copies that no PersistentVolume names: whose claim lives keeps its data, and of the others a
// person is told. Those that were ordered are removed, where --orphan-policy says so.
#pragma once

#include <functional>
#include <string>

#include "provisioner/controller/ends/copy_owners.h"
#include "provisioner/controller/ends/orphan.h"
#include "provisioner/controller/ends/orphan_ages.h"
#include "provisioner/controller/ends/orphan_removal.h"
#include "provisioner/controller/ends/orphan_report.h"
#include "provisioner/controller/reclaim/orphaned_copy_plan.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class OrphanedCopyWorker {
 public:
  // `options` outlive it.
  OrphanedCopyWorker(const ClusterView& view, const CopyOwners& owners, OrphanAges& ages,
                     OrphanRemoval& removal, OrphanReport& report, const OrphanOptions& options)
      : view_(view),
        owners_(owners),
        ages_(ages),
        removal_(removal),
        report_(report),
        options_(options) {}

  // Whether the copy of that name was looked at not long ago, and needs no other look yet.
  bool rests(const std::string& name) const { return ages_.rests(name); }
  // A look at it begins, which asks the API server.
  void begin_look(const std::string& name) { ages_.begin_look(name); }
  // It turned out to be none: from now on it is one for no time at all.
  void found_none(const std::string& name) { ages_.found_none(name); }
  // One pass over a copy that no PersistentVolume names, as far as the lists go; after
  // begin_look(). Returns after which time it is to be looked at again.
  Task<Requeue> work(const Orphan& orphan);
  // One pass over an order: says on the Node what comes of an orphan's removal.
  void report_removal(const VolumeCopy& copy);
  // It is none, or its object is gone.
  void forget(const std::string& name);
  // All but those that `is_there` says of.
  void forget_unless(const std::function<bool(const std::string& name)>& is_there);

 private:
  Task<Status> carry_out(const Orphan& orphan, const OrphanedCopyPlan& plan);
  OrphanedCopy view_of(const Orphan& orphan);
  void report_to_claim(const Orphan& orphan);
  void report_other_copy(const Orphan& orphan);
  std::chrono::nanoseconds pause_after_report(const OrphanedCopy& view) const;

  const ClusterView& view_;
  const CopyOwners& owners_;
  OrphanAges& ages_;
  OrphanRemoval& removal_;
  OrphanReport& report_;
  const OrphanOptions& options_;
};

}  // namespace flexlocal::provisioner
