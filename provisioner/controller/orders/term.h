// A leader's term, which its orders bear: it begins when the cluster is known, and once more above
// what hosts have followed.
#pragma once

#include <cstdint>
#include <functional>

#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/roll.h"

namespace flexlocal::provisioner {

class Term {
 public:
  Term(kube::ApiClient& api, const ClusterView& view, OrderDesk& desk, Roll& roll, Log& log)
      : api_(api), view_(view), desk_(desk), roll_(roll), log_(log) {}

  // Begins when the lists are complete. kCancelled: its task was told to stop.
  Task<Status> begin(const std::function<bool()>& has_synced);
  // It is known, and the cluster: before, no order is given.
  bool has_begun() const { return begun_; }
  // After the beat was taken in.
  void heard(const NodeHeartbeat& beat);

 private:
  Task<Status> learn_cluster();
  void begin_above_known();
  std::int64_t highest_known() const;

  kube::ApiClient& api_;
  const ClusterView& view_;
  OrderDesk& desk_;
  Roll& roll_;
  Log& log_;
  bool begun_ = false;
};

}  // namespace flexlocal::provisioner
