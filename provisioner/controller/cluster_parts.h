// What the pieces of the cluster role share; made once a term, in cluster_role.cc.
#pragma once

#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/controller/capacity/node_health.h"
#include "provisioner/controller/claims/immediate_plan.h"
#include "provisioner/controller/claims/room_summary.h"
#include "provisioner/controller/cluster_work.h"
#include "provisioner/controller/reclaim/lost_volume_plan.h"
#include "provisioner/controller/reclaim/orphan_policy.h"
#include "provisioner/kube/events.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/node_object.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

using kube::Task;

// For which nodes a controller gives the orders.
enum class Scope {
  kAllNodes,    // but for those whose daemons give their own
  kOneNode,     // its own: the node daemon's
  kAbsentNodes  // each node's daemon gives its own; this is for those that have no Node any more
};

struct ClusterRoleOptions {
  std::string namespace_name;   // of the installation: its DaemonSet, what is told of room
  std::string lease_namespace;  // of the node daemons' Leases
  unsigned workers = 4;
  kube::BackoffOptions retry{std::chrono::seconds(1), std::chrono::minutes(5)};
  // How long a selected node may be NotReady.
  std::chrono::nanoseconds node_lost_after = std::chrono::minutes(2);
  NodeDeletePolicy node_delete_policy = NodeDeletePolicy::kTell;
  // How long a node must be gone before its volumes are looked at.
  std::chrono::nanoseconds node_delete_grace = std::chrono::minutes(10);
  // What is done with copies that nobody stands for, and after which time.
  OrphanPolicy orphan_policy = OrphanPolicy::kReport;
  std::chrono::nanoseconds orphan_grace = std::chrono::hours(1);
  // Whether this daemon saw the API server being put back: then, for as long as it runs, no orphan
  // is removed.
  bool saw_put_back = false;
  // Whether Nodes are labelled by what their daemons say.
  bool label_nodes = true;
  ImmediateBinding immediate = ImmediateBinding::kCentral;
  Scope scope = Scope::kAllNodes;
  std::string own_node{};  // of Scope::kOneNode
  // Whether the scheduler is told of the room on those nodes, and what owns the objects.
  bool tells_room = true;
  std::string daemon_set{};
  // Whether the CSIDriver is made where there is none.
  bool register_driver = true;
  // How often that is looked after, and CSIStorageCapacities that nobody keeps are removed.
  std::chrono::nanoseconds registry_interval = std::chrono::minutes(1);
  // How often everything that depends on time is looked at.
  std::chrono::nanoseconds scan_interval = std::chrono::seconds(10);
  // How long no node must have room before the claim says so: a node that frees some says so soon.
  std::chrono::nanoseconds no_room_after = std::chrono::seconds(15);

  bool is_of_one_node() const { return scope == Scope::kOneNode; }
};

struct ClusterParts {
  kube::ApiClient& api;  // through the leader's gate
  kube::EventRecorder& events;
  kube::Informer<Claim>& claims;
  kube::Informer<Volume>& volumes;
  kube::Informer<StorageClass>& classes;
  kube::Informer<Node>& nodes;
  kube::Informer<NodeHeartbeat>& beats;  // by "namespace/lease name"
  NodeObservations& observations;
  const Clock& clock;  // goes on while the machine sleeps
  Log& log;
  ClusterWork& work;
  ClusterRoleOptions options;
  std::string cluster_id{};  // uid of the namespace kube-system; known before any order is given

  std::string beat_key(const std::string& node) const {
    return options.lease_namespace + '/' + heartbeat_name(node);
  }
  // Whether the orders of that node's copies are ours to give.
  bool orders_for(const std::string& node) const {
    switch (options.scope) {
      case Scope::kOneNode:
        return node == options.own_node;
      case Scope::kAbsentNodes:
        return nodes.get(node) == nullptr;
      case Scope::kAllNodes:
        break;
    }
    const NodeHeartbeat* const beat = beats.get(beat_key(node));
    return beat == nullptr || !beat->report.orders_itself;
  }
  // What is known of a node now; to be used before the next co_await.
  NodeView view_of(const Node& node) const {
    return {node, observations.health(node.name, clock.now()), beats.get(beat_key(node.name))};
  }
};

}  // namespace flexlocal::provisioner
