// Why no node can take a claim, counted over all nodes: for the person who waits for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "provisioner/controller/capacity/node_health.h"
#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/objects/node_object.h"

namespace flexlocal::provisioner {

// One for each node: the first in this order that is true of it. Kept apart from their words, so
// that there can be more of them.
enum class NoRoom {
  kNodeUnready,
  kNoDaemon,
  kDaemonNotReady,
  kNoPool,        // no such pool there, or not with that backend
  kPoolFull,      // by what its daemon said last
  kBudget,        // of RAM, by what its daemon said last
  kOrdersItself,  // so that the leader gives it no order
  kNoOrders,      // its daemon is of a version before there were any
  kCordoned
};

std::string_view to_words(NoRoom reason);

struct NodeView {
  const Node& node;
  NodeHealth health;
  const NodeHeartbeat* beat;  // nullptr: none
  // What is in the way of whoever looks, beside what its daemon says: kOrdersItself or kNoOrders.
  std::optional<NoRoom> barred{};

  // Whether its daemon carries out orders, and has told which copies it has.
  bool carries_out() const { return beat != nullptr && beat->report.roll.has_value(); }
  // Whether it gives them itself.
  bool orders_itself() const { return beat != nullptr && beat->report.orders_itself; }
};

// `of_class`: its diskPerRam, nullopt where it leaves that to the nodes.
struct WantedVolume {
  Promise promise;
  std::optional<Ratio> of_class{};
};

// nullopt: as far as is known the volume would find room there.
std::optional<NoRoom> no_room_on(const NodeView& node, const WantedVolume& wanted);

// Why the volume finds no room there, with figures where there are some; nullopt: it does, or the
// node is only cordoned. `uncounted`: what was ordered of the pool and is not in the daemon's
// figures yet.
std::optional<std::string> shortage_on(const NodeView& node, const WantedVolume& wanted,
                                       Bytes uncounted);

// What is left there, by the daemon's last word, of disks and RAM budget: the less of both.
Bytes free_on(const NodeView& node, const WantedVolume& wanted);

// The largest volume of that kind that can be ordered there, by the daemon's last word; 0: none.
Bytes largest_on(const NodeView& node, const WantedVolume& wanted);

// What the volume will have there, at least: its size, rounded up as the node's disks do, by the
// daemon's last word.
Bytes size_on(const NodeView& node, const Promise& wanted);

// `0 of 7 nodes have 500Gi in pool "fast" for backend lvm: 5 pool full, 2 node not ready`, the most
// frequent first; nullopt as soon as one node could take it.
std::optional<std::string> no_room_anywhere(const std::vector<NodeView>& nodes,
                                            const WantedVolume& wanted);

}  // namespace flexlocal::provisioner
