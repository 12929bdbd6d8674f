// What the daemon was told to do: its flags, checked.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "flexvolume/base/json_log.h"
#include "provisioner/accounting/budget.h"
#include "provisioner/controller/claims/immediate_plan.h"
#include "provisioner/controller/reclaim/lost_volume_plan.h"
#include "provisioner/controller/reclaim/orphan_policy.h"
#include "provisioner/daemon/endpoint.h"

namespace flexlocal::provisioner {

// kBudget is none of the daemon: it prints, and ends.
enum class Role { kNode, kCluster, kBudget };

// Who decides about volumes.
enum class Provisioning {
  kDistributed,  // each node daemon gives the orders for its own node
  kCentral       // the cluster daemon's controller, by orders that the node daemons carry out
};

struct DaemonOptions {
  Role role = Role::kNode;
  std::string node_name;        // of the Node object this daemon works for
  std::string kubeconfig;       // empty: what a pod finds in itself
  std::string context;          // empty: the kubeconfig's current one
  std::string namespace_name;   // of the installation; empty: the pod's own
  std::string lease_namespace;  // of the node daemons' Leases
  std::string node_config;      // path of node.conf
  std::string host_proc;        // /proc folder of a process in the host's namespaces; empty: ours
  std::string state_dir;        // the host's /var/lib/flexlocal
  std::string lock_dir;         // the host's /run/flexlocal
  Provisioning provisioning = Provisioning::kCentral;  // of both roles
  std::optional<double> kube_api_qps;                  // none: auto, see kube::ApiOptions
  double kube_api_burst = 200;
  unsigned worker_threads = 4;
  std::chrono::milliseconds retry_interval_start{1000};
  std::chrono::milliseconds retry_interval_max{300000};
  std::chrono::milliseconds timeout{30000};
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  std::optional<Endpoint> http_endpoint;  // of /healthz, /readyz and the metrics; nothing: none
  std::string metrics_path;
  // Of the role that decides about volumes, see orphan_policy.h.
  std::chrono::milliseconds orphan_grace{3600000};
  OrphanPolicy orphan_policy = OrphanPolicy::kReport;
  // The node role's, see budget.h.
  Ratio ram_fraction = NodeBudget().ram_fraction;
  bool give_up_promises = false;
  Ratio disk_per_ram = NodeBudget().disk_per_ram;
  // What the scheduler is told of the room, see capacity_publisher.h and registry_keeper.h.
  std::string daemon_set;
  std::chrono::milliseconds capacity_poll_interval{60000};
  bool enable_capacity = true;
  // Of both roles, see immediate_plan.h; a node's is kOff or kRank.
  ImmediateBinding immediate = ImmediateBinding::kCentral;
  bool register_driver = true;
  // The cluster role's, see election.h and cluster_options.h.
  bool leader_election = true;
  bool label_nodes = true;
  std::chrono::milliseconds lease_duration{15000};
  std::chrono::milliseconds renew_deadline{10000};
  std::chrono::milliseconds retry_period{2000};
  std::chrono::milliseconds node_lost_after{120000};
  std::chrono::milliseconds node_delete_grace{600000};
  NodeDeletePolicy node_delete_policy = NodeDeletePolicy::kReport;
};

}  // namespace flexlocal::provisioner
