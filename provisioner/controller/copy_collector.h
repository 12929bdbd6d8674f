// Ends the orders that nobody needs any more: of copies that are removed, of claims that are gone
// before they had a PersistentVolume, and of nodes that are gone.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "provisioner/controller/cluster_view.h"
#include "provisioner/controller/node_absence.h"
#include "provisioner/controller/order_desk.h"
#include "provisioner/controller/orphaned_copy_worker.h"
#include "provisioner/controller/roll.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

// For as long an object stays after its copy was removed: a late answer, or a leader's late write,
// finds it and changes nothing. A lease and a request's time-out.
inline constexpr std::chrono::seconds kRemovedStays{45};

class CopyCollector {
 public:
  // `options`: of `orphans`; they outlive it.
  CopyCollector(kube::ApiClient& api, const ClusterView& view, OrderDesk& desk, Roll& roll,
                NodeAbsence& absence, OrphanedCopyWorker& orphans, const OrphanOptions& options,
                const Clock& clock, Log& log)
      : api_(api),
        view_(view),
        desk_(desk),
        roll_(roll),
        absence_(absence),
        orphans_(orphans),
        options_(options),
        clock_(clock),
        log_(log) {}

  // One pass over the VolumeCopy. Returns after which time it is to be looked at again.
  Task<Requeue> work(const VolumeCopy& copy);
  // A pass would find it as it is to stay, until it or its PersistentVolume changes.
  bool rests(const VolumeCopy& copy) const;
  void forget(const std::string& name) {
    removed_.erase(name);
    orphans_.forget(name);
  }

 private:
  bool has_volume(const CopyOrder& order) const;
  Task<Result<bool>> is_needed(const VolumeCopy& copy);
  Task<Result<bool>> is_being_replaced(const VolumeCopy& copy);
  Task<Result<bool>> has_claim(const CopyOrder& order);
  bool has_lost_volume(const VolumeCopy& copy) const;
  Task<Requeue> end(const VolumeCopy& copy);
  Task<Requeue> report_orphan(const VolumeCopy& copy);
  Task<Requeue> bury(const VolumeCopy& copy);
  Task<Requeue> release_with_node(const VolumeCopy& copy);

  kube::ApiClient& api_;
  const ClusterView& view_;
  OrderDesk& desk_;
  Roll& roll_;
  NodeAbsence& absence_;
  OrphanedCopyWorker& orphans_;
  const OrphanOptions& options_;
  const Clock& clock_;
  Log& log_;
  std::map<std::string, Clock::Instant> removed_;  // when it was seen so first
};

}  // namespace flexlocal::provisioner
