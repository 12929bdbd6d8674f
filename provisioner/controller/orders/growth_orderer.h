// Carries out a growth by an order: the order's size, then the PersistentVolume's capacity, last
// the claim's status. A kill at any step leaves what the next pass completes.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "provisioner/controller/claims/growth_order.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/event_reporter.h"
#include "provisioner/work/requeue.h"
#include "provisioner/work/work_metrics.h"

namespace flexlocal::provisioner {

class GrowthOrderer {
 public:
  GrowthOrderer(kube::ApiClient& api, ClusterView& view, OrderDesk& desk, EventReporter events,
                const Clock& clock, WorkCounters& counters)
      : api_(api),
        view_(view),
        desk_(desk),
        events_(std::move(events)),
        clock_(clock),
        counters_(counters) {}

  // Whether a pass over a bound claim would do anything.
  bool concerns(const Claim& claim) const;
  // One pass over the bound claim "namespace/name"; after which time it is to be looked at again,
  // though nothing changes.
  Task<Requeue> work(const std::string& key);
  // Of a claim that is gone.
  void forget(const std::string& key) { events_.forget(key); }

 private:
  Task<Requeue> plan(const Claim& claim, const Volume& volume);
  RequeueAfter await_answer(const Claim& claim, const Volume& volume, const KnownCopy& copy);
  Task<Requeue> carry_out(const Claim& claim, const Volume& volume, const Growth& growth);
  Task<Status> raise(const VolumeCopy& copy, Bytes size);
  Task<Status> conclude(const Claim& claim, const Volume& volume, const GrowthOrder& order);
  Task<Status> fail(const Claim& claim, const Volume& volume, const Growth& growth,
                    const GrowthOrder& order);
  Task<Status> settle(const Claim& claim, const Volume& volume, const Settle& settle);
  Task<Status> patch_capacity(const Volume& volume, Bytes size);
  Task<Status> write_status(const Claim& claim, const std::string& body);
  void count_grown(const Claim& claim, const Volume& volume);

  kube::ApiClient& api_;
  ClusterView& view_;
  OrderDesk& desk_;
  EventReporter events_;
  const Clock& clock_;
  WorkCounters& counters_;
};

}  // namespace flexlocal::provisioner
