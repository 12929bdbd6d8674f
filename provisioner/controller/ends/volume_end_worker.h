// Carries out the plan for a PersistentVolume: what is desired of its copy, and its own end.
#pragma once

#include <string>
#include <utility>

#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/reclaim/end_plan.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/event_reporter.h"
#include "provisioner/work/work_metrics.h"

namespace flexlocal::provisioner {

class VolumeEndWorker {
 public:
  VolumeEndWorker(kube::ApiClient& api, ClusterView& view, OrderDesk& desk, EventReporter events,
                  Log& log, WorkCounters& counters)
      : api_(api),
        view_(view),
        desk_(desk),
        events_(std::move(events)),
        log_(log),
        counters_(counters) {}

  // One pass over the PersistentVolume of that name.
  Task<Status> work(const std::string& name);
  // A pass would find it as it is to stay, until it or its copy changes.
  bool rests(const Volume& volume) const;
  // Of a PersistentVolume whose node is gone: only that its copy is kept, where it is to be.
  Task<Status> keep(const std::string& name);

 private:
  EndPlan plan(const Volume& volume) const;
  KnownCopy copy_of(const Volume& volume) const;
  Task<Status> carry_out(const Volume& volume, const EndPlan& plan);
  Task<Result<bool>> still_ends(const Volume& volume);
  Task<Status> order(const Volume& volume, DesiredState desired);
  Task<Status> remove_object(const Volume& volume);
  Task<Status> release(const Volume& volume);
  void report_loss(const Volume& volume);
  void report_trouble(const Volume& volume);
  void count_removed(const Volume& volume);

  kube::ApiClient& api_;
  ClusterView& view_;
  OrderDesk& desk_;
  EventReporter events_;
  Log& log_;
  WorkCounters& counters_;
};

}  // namespace flexlocal::provisioner
