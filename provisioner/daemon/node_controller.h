// With --provisioning=distributed: what gives the orders for this node, in its own daemon.
#pragma once

#include "provisioner/controller/cluster_role.h"
#include "provisioner/daemon/process.h"
#include "provisioner/kube/boot_clock.h"
#include "provisioner/kube/client_metrics.h"
#include "provisioner/kube/condition.h"
#include "provisioner/kube/leader_gate.h"

namespace flexlocal::provisioner {

class NodeController {
 public:
  // `copies`: this node's, which the agent follows. `put_back`: whether an earlier process of this
  // daemon saw the API server being put back, not long ago.
  NodeController(Process& process, kube::Http& http, kube::Informer<VolumeCopy>& copies,
                 bool put_back);

  // Works until stop(). It begins with the node's first beat, and what it sends is sent only while
  // the node's Lease is this host's: another host may have the Node's name.
  Task<void> run();
  void stop();
  // After each beat, with how it ended.
  void heard(const Status& beaten);

  // Whether an order to remove is what holds, by the API server's own word: while this process was
  // away nobody took it back. kConflict: it is not.
  Task<Status> confirm(const VolumeCopy& copy);

  // Its lists are complete; else kUnavailable, in words.
  Status readiness() const;
  // It must outlive `metrics`.
  void show_in(kube::Metrics& metrics) const;
  void add_to(kube::ClientView& client) const;

 private:
  kube::BootClock clock_;
  kube::LeaderGate gate_;
  kube::ApiClient api_;
  ClusterWork work_;
  bool put_back_;
  ClusterRole role_;
  kube::Condition heard_;
  bool stopped_ = false;
};

}  // namespace flexlocal::provisioner
