// What the cluster role is told at its start, for the daemon that runs it.
#pragma once

#include <string>

#include "provisioner/controller/claims/immediate_plan.h"
#include "provisioner/controller/reclaim/lost_volume_plan.h"
#include "provisioner/controller/reclaim/orphan_policy.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/kube/backoff.h"

namespace flexlocal::provisioner {

struct ClusterRoleOptions {
  std::string namespace_name;   // of the installation: its DaemonSet, what is told of room
  std::string lease_namespace;  // of the node daemons' Leases
  unsigned workers = 4;
  kube::BackoffOptions retry{std::chrono::seconds(1), std::chrono::minutes(5)};
  // How long a selected node may be NotReady.
  std::chrono::nanoseconds node_lost_after = std::chrono::minutes(2);
  NodeDeletePolicy node_delete_policy = NodeDeletePolicy::kReport;
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

}  // namespace flexlocal::provisioner
