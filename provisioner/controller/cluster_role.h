// The cluster role: what one daemon does for all nodes. One term of its leader. Builds what works
// on claims, PersistentVolumes, VolumeCopies and rooms, and gives each what the queue names.
#pragma once

#include <memory>
#include <string>

#include "provisioner/controller/claim_reconciler.h"
#include "provisioner/controller/cluster_lists.h"
#include "provisioner/controller/copy_reconciler.h"
#include "provisioner/controller/orders/pending_claim_worker.h"
#include "provisioner/controller/publish/node_label.h"
#include "provisioner/controller/publish/registry_keeper.h"
#include "provisioner/controller/room_reconciler.h"
#include "provisioner/controller/unordered_reconciler.h"
#include "provisioner/controller/view/cluster_options.h"
#include "provisioner/controller/view/fleet_roll.h"
#include "provisioner/controller/view/node_absence.h"
#include "provisioner/controller/view/open_claims.h"
#include "provisioner/controller/view/silence_check.h"
#include "provisioner/controller/volume_reconciler.h"
#include "provisioner/work/reconcile_loop.h"

namespace flexlocal::provisioner {

class ClusterRole {
 public:
  // `api` is the leader's: its requests fail once leading has ended. `clock` goes on while the
  // machine sleeps. `work` counts on from one term to the next. `put_back`: see RollCaller.
  // `copies`: of Scope::kOneNode those of that node, which somebody else reads; it outlives this.
  ClusterRole(boost::asio::io_context& io, kube::ApiClient& api, const Clock& clock, Log& log,
              const ClusterRoleOptions& options, ClusterWork& work, bool& put_back,
              kube::Informer<VolumeCopy>* copies = nullptr);

  // Works until stop(), then finishes what is begun, writes what events wait, and ends. Told to
  // stop by its task, it drops everything and ends as well.
  Task<void> run();
  void stop() { loop_.stop(); }

  // kUnavailable, in words, while a list is not complete: until then nothing is decided.
  Status readiness() const { return lists_.readiness(); }
  // For those who show what the role does.
  const ClusterView& view() const { return view_; }
  const kube::WorkQueue& queue() const { return loop_.queue(); }

 private:
  Task<void> work(const std::string& key);
  Task<Status> work_on(const std::string& key);
  Task<Status> work_on_claim(const std::string& claim);
  Task<void> begin_orders();
  std::unique_ptr<Roll> make_roll(bool& put_back);
  std::unique_ptr<ImmediateRanks> make_ranks();
  EventReporter reporter();
  Bytes own_room(const std::string& storage_class);
  Task<void> scan_loop();
  Task<void> republish_rooms();
  void watch_changes();
  void enqueue_label(const std::string& node);
  void scan();
  void report(const std::string& key, const Status& status);

  kube::ApiClient& api_;
  const Clock& clock_;
  Log& log_;
  ClusterRoleOptions options_;
  ClusterWork& work_;

  // What is known.
  ClusterLists lists_;
  ReconcileLoop loop_;
  kube::WorkQueue& queue_;
  NodeCache node_cache_{lists_.nodes(), lists_.beats(), clock_, options_.lease_namespace};
  CopyIndex index_{lists_.copies(), clock_};
  ClusterView view_{lists_.claims(), lists_.volumes(), lists_.classes(), node_cache_,
                    index_,          options_.scope,   options_.own_node};
  OpenClaims open_claims_{lists_.claims()};
  NodeAbsence absence_{api_, node_cache_, clock_, options_.node_delete_grace};
  FleetRoll* fleet_ = nullptr;  // which roll_ is, of one node
  std::unique_ptr<Roll> roll_;

  // Orders, and of which node they are given.
  OrdersUnderWay under_way_;
  OrderDesk desk_{api_, lists_.copies(), under_way_, log_};
  OrderDrafter drafter_{api_, view_, desk_};
  Term term_{api_, view_, desk_, *roll_, log_};
  NodeChooser chooser_{view_, under_way_, clock_};
  SelectedNodeWorker selected_{api_, view_, options_.node_lost_after, reporter(), log_, work_};
  NoRoomReport no_room_{
      view_, reporter(), {options_.immediate, options_.no_room_after}, clock_, work_};

  // Claims that wait for a volume.
  ProvisioningReport provisioning_{reporter(), log_, work_};
  VolumeBinder volume_binder_{api_, view_, provisioning_};
  NodeAssigner assigner_{view_, chooser_, selected_, no_room_, provisioning_};
  PriorCopies prior_copies_{view_, *roll_, desk_, provisioning_};
  CopyOrderer copy_orderer_{prior_copies_, assigner_, drafter_, desk_, provisioning_};
  ClaimBinder claim_binder_{prior_copies_, volume_binder_, desk_, assigner_};
  OrderPlanner planner_{view_, desk_, *roll_, options_.immediate};
  OrderWorker order_worker_{view_,         planner_,  copy_orderer_,
                            claim_binder_, assigner_, provisioning_};
  ImmediatePlacer placer_{api_, view_, clock_, log_, work_};
  PendingClaimWorker pending_worker_{view_, placer_, selected_, no_room_, options_.immediate};

  // Claims that are bound.
  GrowthOrderer growth_orderer_{api_, view_, desk_, reporter(), clock_, work_.volumes.grow};
  ReplacementReport replacement_report_{reporter(), log_, work_};
  VolumeReplacer replacer_{api_, view_, volume_binder_, replacement_report_};
  ReplacementOrderer replacement_orderer_{view_,    *roll_, chooser_,
                                          drafter_, desk_,  replacement_report_};
  ReplacementWorker replacements_{
      view_, *roll_, desk_, replacement_orderer_, replacer_, replacement_report_};

  // The end of volumes and copies.
  VolumeEndWorker end_worker_{api_, view_, desk_, reporter(), log_, work_.volumes.remove};
  LostVolumeReport lost_report_{reporter(), log_, work_};
  LostVolumeWorker lost_worker_{api_, view_, absence_, lost_report_, options_.node_delete_policy};
  OrphanOptions orphan_options_{options_.orphan_policy, options_.orphan_grace,
                                options_.saw_put_back, options_.node_delete_policy};
  CopyOwners owners_{api_, view_};
  OrphanAges orphan_ages_{orphan_options_, clock_};
  OrphanReport orphan_report_{orphan_ages_, reporter(), clock_, log_};
  OrphanRemoval orphan_removal_{owners_,      *roll_,         desk_,
                                orphan_ages_, orphan_report_, orphan_options_};
  OrphanedCopyWorker orphans_{view_,           owners_,        orphan_ages_,
                              orphan_removal_, orphan_report_, orphan_options_};
  RemovedCopies removed_copies_{desk_, clock_};
  NodelessCopies nodeless_copies_{view_, absence_, desk_, orphan_options_, log_};
  UnneededCopyWorker unneeded_{view_, owners_, *roll_, desk_, orphans_, nodeless_copies_};
  CopyCollector collector_{view_, owners_, removed_copies_, nodeless_copies_, orphans_, unneeded_};

  // What the scheduler is told, and nodes among themselves.
  CapacityPublisher publisher_{
      api_, view_, open_claims_, chooser_, {options_.namespace_name, options_.daemon_set}};
  DriverRegistrar registrar_{api_, loop_.events(), log_};
  CapacitySweeper sweeper_{api_, view_, options_.scope == Scope::kAllNodes ? &publisher_ : nullptr,
                           log_};
  CapacitySurvey survey_{
      api_,   view_.classes, options_.namespace_name,
      clock_, log_,          [this] { ranks_->enqueue_asking(); }};  // idle without ranks_
  ClaimTaker taker_{api_, view_, [this](const std::string& name) { return own_room(name); }, log_,
                    work_};
  std::unique_ptr<ImmediateRanks> ranks_ = make_ranks();  // nullptr: none are ranked here

  // What works on what the queue names.
  ClaimReconciler claims_{view_,         order_worker_, growth_orderer_,
                          replacements_, ranks_.get(),  queue_};
  VolumeReconciler volumes_{view_, term_, end_worker_, lost_worker_, queue_};
  CopyReconciler copies_{view_, term_, claims_, collector_, queue_};
  UnorderedReconciler unordered_{view_, term_, desk_, orphans_, queue_};
  RoomReconciler rooms_{view_, term_, chooser_, publisher_, queue_, options_.tells_room};
  NodeLabeler labeler_{api_, node_cache_, log_, options_.label_nodes};
  SilenceCheck silence_{api_, node_cache_, log_, options_.scan_interval / 4};
  RegistryKeeper registry_{
      loop_.io(),
      api_,
      registrar_,
      sweeper_,
      [this] { return lists_.has_synced(); },
      {options_.namespace_name, options_.register_driver, options_.registry_interval},
      log_};
  bool gather_ = true;  // all are to be looked at once, for which ones are restless
};

}  // namespace flexlocal::provisioner
