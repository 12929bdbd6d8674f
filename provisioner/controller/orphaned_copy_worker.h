// Copies that no PersistentVolume names: whose claim lives keeps its data, and of the others a
// person is told. Those that were ordered are removed, where --orphan-policy says so.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "provisioner/controller/cluster_view.h"
#include "provisioner/controller/event_reporter.h"
#include "provisioner/controller/order_desk.h"
#include "provisioner/controller/reclaim/lost_volume_plan.h"
#include "provisioner/controller/reclaim/orphan_policy.h"
#include "provisioner/controller/reclaim/orphaned_copy_plan.h"
#include "provisioner/controller/roll.h"
#include "provisioner/objects/copy_roll.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

// By what stands in its VolumeCopy, or by what its node tells where no VolumeCopy names it.
struct Orphan {
  CopyOrder order;  // of one that no VolumeCopy names: to keep it as it is
  bool retained = false;
  std::optional<VolumeCopy> object{};
};

struct OrphanOptions {
  OrphanPolicy policy = OrphanPolicy::kReport;
  // How long a copy must be an orphan before it is removed, or a person is told once more.
  std::chrono::nanoseconds grace = std::chrono::hours(1);
  // See ClusterRoleOptions.
  bool saw_put_back = false;
  NodeDeletePolicy node_delete_policy = NodeDeletePolicy::kReport;
};

class OrphanedCopyWorker {
 public:
  // `options` outlive it.
  OrphanedCopyWorker(kube::ApiClient& api, const ClusterView& view, OrderDesk& desk, Roll& roll,
                     EventReporter events, const OrphanOptions& options, const Clock& clock,
                     Log& log)
      : api_(api),
        view_(view),
        desk_(desk),
        roll_(roll),
        events_(std::move(events)),
        options_(options),
        clock_(clock),
        log_(log) {}

  // Whether the copy of that name was looked at not long ago, and needs no other look yet.
  bool rests(const std::string& name) const;
  // A look at it begins, which asks the API server.
  void begin_look(const std::string& name);
  // It turned out to be none: from now on it is one for no time at all.
  void found_none(const std::string& name);
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
  struct Known {
    Clock::Instant since;            // it is an orphan
    Clock::Instant removable_since;  // nothing but time was in the way of its removal
    Clock::Instant next{};
    std::string text{};  // that was reported last
    Clock::Instant reported{};
  };

  Task<Status> carry_out(const Orphan& orphan, const OrphanedCopyPlan& plan);
  Task<Status> remove(const Orphan& orphan);
  Task<Result<std::optional<Volume>>> volume_of(const CopyOrder& order);
  Task<Result<bool>> has_claim(const CopyOrder& order);
  OrphanedCopy view_of(const Orphan& orphan);
  bool is_in_doubt() const;
  kube::Found<Claim> claim_of(const CopyOrder& order) const;
  bool is_new(const std::string& name, const std::string& text);
  void report_to_claim(const Orphan& orphan);
  void report(const Orphan& orphan, const std::string& what);
  void report_other_copy(const Orphan& orphan);
  std::chrono::nanoseconds pause_after_report(const OrphanedCopy& view) const;
  void rest(const std::string& name, std::chrono::nanoseconds pause);
  void record_event(const CopyOrder& order, kube::EventType type, std::string_view reason,
                    const std::string& message);

  kube::ApiClient& api_;
  const ClusterView& view_;
  OrderDesk& desk_;
  Roll& roll_;
  EventReporter events_;
  const OrphanOptions& options_;
  const Clock& clock_;
  Log& log_;
  std::map<std::string, Known> known_;  // by VolumeCopy's name
  std::set<std::string> removing_;      // orders that were given here
};

}  // namespace flexlocal::provisioner
