// Gives the orders for a bound claim whose volume gets another node: gives up the copy that cannot
// be made, and orders one in its place.
#pragma once

#include <string>

#include "provisioner/controller/orders/node_chooser.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/orders/order_drafter.h"
#include "provisioner/controller/orders/replacement_report.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/roll.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class ReplacementOrderer {
 public:
  ReplacementOrderer(const ClusterView& view, Roll& roll, NodeChooser& chooser,
                     const OrderDrafter& drafter, OrderDesk& desk, ReplacementReport& report)
      : view_(view),
        roll_(roll),
        chooser_(chooser),
        drafter_(drafter),
        desk_(desk),
        report_(report) {}

  // That the copy never serves again.
  Task<Status> give_up(const Claim& claim, const VolumeCopy& copy, const std::string& why);
  // A copy on another node, in place of the one that was given up. Returns after which time the
  // claim is to be looked at again.
  Task<Requeue> order(const Claim& claim, const VolumeCopy& given_up);
  // Such an order: the next node is looked for. `why`: for the claim; empty: its own doing.
  Task<Status> withdraw(const Claim& claim, const VolumeCopy& copy, const std::string& why);

 private:
  Task<Requeue> order_of_node(const Claim& claim, const CopyOrder& given_up, const Node& node);

  const ClusterView& view_;
  Roll& roll_;
  NodeChooser& chooser_;
  const OrderDrafter& drafter_;
  OrderDesk& desk_;
  ReplacementReport& report_;
};

}  // namespace flexlocal::provisioner
