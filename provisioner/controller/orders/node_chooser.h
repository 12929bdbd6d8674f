// Which node a volume is ordered of: whether the chosen one can have it, and for claims that no
// scheduler chooses for, which one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/controller/claims/immediate_plan.h"
#include "provisioner/controller/orders/orders_under_way.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/refused_nodes.h"

namespace flexlocal::provisioner {

class NodeChooser {
 public:
  // `under_way`: what counts as used before the watch brings it.
  NodeChooser(const ClusterView& view, const OrdersUnderWay& under_way, const Clock& clock)
      : view_(view), under_way_(under_way), clock_(clock) {}

  // Why the node cannot have the volume, in words; nullopt: as far as is known it can.
  std::optional<std::string> objection_to(const Claim& claim, const Order& order,
                                          const Node& node) const;
  // The node with most room; empty: none has any.
  std::string choose(const Claim& claim, const Order& order) const {
    return choose(claim, order.name.text(), {promise_of(order), order.parameters.disk_per_ram});
  }
  std::string choose(const Claim& claim, const std::string& volume,
                     const WantedVolume& wanted) const;

  // The node refused the claim: it is not chosen for it for a while.
  void refused(const Claim& claim, const std::string& node) { refused_.add(claim.key(), node); }
  void forget(const std::string& claim);

  // The scheduler knows what a claim asks for, and not what the memory of its pod makes of that
  // (sizeFrom: podMemory): it would choose a node that has room for the one alone again and again.
  // Where that is so, the node shows no room of the class for kHidden, and for one claim no more
  // often than each kHideInterval: other tenants are to see it.
  static constexpr std::chrono::seconds kHidden = RefusedNodes::kPause;
  static constexpr std::chrono::minutes kHideInterval{5};
  void hide_room(const Claim& claim, const Order& asked, const Node& node);
  bool hides_room(const std::string& node, const std::string& storage_class) const;
  // Called when that begins. It must not wait.
  void on_hidden(std::function<void(const std::string& node)> handler) {
    on_hidden_ = std::move(handler);
  }

 private:
  bool is_recent(Clock::Instant hidden) const { return clock_.now() - hidden < kHidden; }
  Bytes uncounted(const NodeView& node, const std::string& pool) const;

  const ClusterView& view_;
  const OrdersUnderWay& under_way_;
  const Clock& clock_;
  RefusedNodes refused_{clock_};
  std::map<std::pair<std::string, std::string>, Clock::Instant> hidden_;      // by node and class
  std::map<std::pair<std::string, std::string>, Clock::Instant> hidden_for_;  // by claim and node
  std::function<void(const std::string& node)> on_hidden_;
};

}  // namespace flexlocal::provisioner
