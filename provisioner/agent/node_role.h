// The node role: one daemon a node, which works for its own node only.
#pragma once

#include <chrono>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/agent/capacity_publisher.h"
#include "provisioner/agent/claim_worker.h"
#include "provisioner/agent/disk_keeper.h"
#include "provisioner/agent/growth_worker.h"
#include "provisioner/agent/membership.h"
#include "provisioner/agent/node_memory.h"
#include "provisioner/agent/node_report.h"
#include "provisioner/agent/orphan_collector.h"
#include "provisioner/agent/promise_keeper.h"
#include "provisioner/agent/rank_placer.h"
#include "provisioner/agent/volume_worker.h"
#include "provisioner/controller/claims/immediate_plan.h"
#include "provisioner/work/log_subject.h"
#include "provisioner/work/reconcile_loop.h"

namespace flexlocal::provisioner {

struct NodeRoleOptions {
  // How many claims and volumes are worked on at once. More help only while LVM is waited for.
  unsigned workers = 4;
  // First and longest pause before a failed claim or volume is tried again.
  kube::BackoffOptions retry{std::chrono::seconds(1), std::chrono::minutes(5)};
  DiskIntervals disks{};
  // How long a volume must have been without its PersistentVolume before it is called an orphan,
  // and what is done then.
  std::chrono::seconds orphan_grace{3600};
  OrphanPolicy orphan_policy = OrphanPolicy::kReport;
  // What volumes are in proportion to; the node's memory comes with its Membership.
  Ratio ram_fraction = NodeBudget().ram_fraction;
  Ratio disk_per_ram = NodeBudget().disk_per_ram;
  // What the scheduler is told of this node's room.
  CapacityOptions capacity{};
  // kRank: this node takes its share of claims with volumeBindingMode Immediate. What it tells of
  // its room must then be enabled.
  ImmediateBinding immediate = ImmediateBinding::kOff;
  // Of claims, volumes and classes. Many nodes begin at once after an outage, and none reads the
  // state from etcd: what destroys or gives away anything asks for the object anew before.
  kube::ReflectorOptions reflect{.first = kube::FirstList::kFromCache};
};

class NodeRole {
 public:
  NodeRole(boost::asio::io_context& io, kube::ApiClient& api, Storage& storage,
           const engine::NodeConfig& config, const Clock& clock, Log& log,
           const Membership& membership, const NodeRoleOptions& options);

  // Works until stop(), then finishes what is begun, writes what events wait, and ends.
  Task<void> run();
  void stop();

  // For the heartbeat.
  NodeReport report();
  NodeState state() const;
  // For those who show what the role does.
  const NodeParts& parts() const { return parts_; }
  const kube::WorkQueue& queue() const { return loop_.queue(); }
  // The lists are complete: it can work.
  bool has_synced() const {
    return claims_.has_synced() && volumes_.has_synced() && classes_.has_synced();
  }

 private:
  Task<void> follow_claims();
  Task<void> follow_rooms();
  void know_class(const std::string& name);
  Task<void> begin();
  Task<void> work(const std::string& key);
  Task<Result<Pass>> work_on(const std::string& key);
  Task<Status> work_on_claim(const std::string& claim);
  Task<void> rounds_loop();
  void enqueue_volumes();
  void enqueue_volume(const std::string& name);
  void enqueue_claims();
  void enqueue_growths();
  void enqueue_settlement(const Volume& volume);
  void enqueue_claim(const std::string& key);
  bool is_left_to_others(const std::string& key);
  void enqueue_asking();
  bool ranks() const { return options_.immediate == ImmediateBinding::kRank; }
  LogSubject subject_of(const std::string& key) const;
  void report(const std::string& key, const Result<Pass>& pass);

  const engine::NodeConfig& config_;
  Log& log_;
  NodeRoleOptions options_;
  ClassNames class_names_;  // that are ours, and those of this node's volumes
  kube::Informer<Claim> claims_;
  kube::Informer<Volume> volumes_;
  kube::Informer<StorageClass> classes_;
  ReconcileLoop loop_;
  kube::WorkQueue& queue_;
  Ledger ledger_;
  KubeletInit kubelet_init_;
  Status kubelet_;  // as it was at the last report
  NodeParts parts_;
  ClaimWorker claim_worker_;
  GrowthWorker growth_worker_;
  VolumeWorker volume_worker_;
  OrphanCollector orphans_;
  PromiseKeeper promises_;
  CapacityPublisher capacity_;
  CapacitySurvey survey_;
  RankPlacer rank_placer_;
  NodeMemory memory_;
  DiskKeeper disks_;
};

}  // namespace flexlocal::provisioner
