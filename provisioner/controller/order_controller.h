// Gives the orders for all nodes: what a leader does with claims, PersistentVolumes and
// VolumeCopies where agents carry out, and what it tells of the nodes' room. One term of its
// leader.
#pragma once

#include <functional>

#include "provisioner/controller/capacity_publisher.h"
#include "provisioner/controller/cluster_options.h"
#include "provisioner/controller/copy_collector.h"
#include "provisioner/controller/growth_orderer.h"
#include "provisioner/controller/immediate_ranks.h"
#include "provisioner/controller/open_claims.h"
#include "provisioner/controller/order_worker.h"
#include "provisioner/controller/orphaned_copy_worker.h"
#include "provisioner/controller/replacement_worker.h"
#include "provisioner/controller/restless.h"
#include "provisioner/controller/volume_end_worker.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

class OrderController {
 public:
  // To be made before `copies` takes anything in, and to be kept as long as it does. `options`
  // outlive it.
  OrderController(const ClusterRoleOptions& options, kube::ApiClient& api,
                  kube::EventRecorder& events, ClusterView& view,
                  kube::Informer<VolumeCopy>& copies, const OpenClaims& open_claims,
                  kube::WorkQueue& queue, SelectedNodeWorker& selected, NoRoomReport& no_room,
                  NodeAbsence& absence, Roll& roll, const Clock& clock, Log& log,
                  ClusterWork& work);
  OrderController(const OrderController&) = delete;
  OrderController& operator=(const OrderController&) = delete;

  // From now on what changes is put into the queue, once it has begun. Before anything is taken in.
  void watch();
  // Begins the term when the lists are complete. kCancelled: its task was told to stop.
  Task<Status> begin(const std::function<bool()>& has_synced);
  bool has_begun() const { return begun_; }

  // One pass over what the queue names, once it has begun.
  Task<Status> work_on_claim(const std::string& claim);
  Task<Status> work_on_volume(const std::string& volume, bool has_node);
  Task<Status> work_on_copy(const std::string& name);
  Task<Status> work_on_unordered(const std::string& name);
  Task<Status> work_on_room(const std::string& node) { return publisher_.work(node); }

  // Whether a claim without a volume is ours to look after.
  bool is_concerned(const Claim& claim) const;
  // Whether a pass over a bound claim would do anything.
  bool is_to_grow(const Claim& claim) const;
  // After the beat was taken in.
  void heard(const NodeHeartbeat& beat);
  // A pass over the PersistentVolume would find it as it is to stay, until it or its copy changes.
  bool rests(const Volume& volume) const {
    return !begun_ || !view_.orders_for(volume.node) || end_worker_.rests(volume);
  }
  // Puts into the queue what time alone changes; all copies are looked at once for which those are.
  void scan();
  void gather_restless();
  void enqueue_room(const std::string& node);

  // What is told of that node's room is told once more, whatever was told last.
  void republish_room(const std::string& node);

  CapacityPublisher& publisher() { return publisher_; }
  // nullptr: claims with volumeBindingMode Immediate are not ranked here.
  ImmediateRanks* ranks() { return ranks_ ? &*ranks_ : nullptr; }

 private:
  void watch_orders();
  void watch_rooms();
  void enqueue_claim(const std::string& namespace_name, const std::string& name);
  Bytes own_room(const std::string& storage_class);
  bool orders_copy(const VolumeCopy& copy) const;
  Task<Requeue> work_on_bound(const Claim& claim);
  void begin_term();
  Task<Status> learn_cluster();
  std::int64_t highest_known_term() const;

  const ClusterRoleOptions& options_;
  kube::ApiClient& api_;
  ClusterView& view_;
  kube::Informer<VolumeCopy>& copies_;
  kube::WorkQueue& queue_;
  Log& log_;
  OrdersUnderWay under_way_;
  NodeChooser chooser_;
  CapacityPublisher publisher_;
  OrderDesk desk_;
  Roll& roll_;
  OrderDrafter drafter_;
  ProvisioningReport provisioning_;
  VolumeBinder binder_;
  NodeAssigner assigner_;
  PriorCopies prior_copies_;
  CopyOrderer copy_orderer_;
  ClaimBinder claim_binder_;
  OrderPlanner planner_;
  OrderWorker order_worker_;
  GrowthOrderer growth_orderer_;
  ReplacementReport replacement_report_;
  VolumeReplacer replacer_;
  ReplacementOrderer replacement_orderer_;
  ReplacementWorker replacements_;
  VolumeEndWorker end_worker_;
  OrphanOptions orphan_options_;
  CopyOwners owners_;
  OrphanAges orphan_ages_;
  OrphanReport orphan_report_;
  OrphanRemoval orphan_removal_;
  OrphanedCopyWorker orphans_;
  RemovedCopies removed_copies_;
  NodelessCopies nodeless_copies_;
  UnneededCopyWorker unneeded_;
  CopyCollector copy_collector_;
  std::optional<ImmediateRanks> ranks_;
  Restless restless_;   // copies
  bool begun_ = false;  // the term is known, and the cluster
};

}  // namespace flexlocal::provisioner
