// The cluster role: what one daemon does for all nodes. One term of its leader.
#pragma once

#include <memory>
#include <tuple>

#include "provisioner/controller/cluster_options.h"
#include "provisioner/controller/fleet_roll.h"
#include "provisioner/controller/lost_volume_worker.h"
#include "provisioner/controller/node_absence.h"
#include "provisioner/controller/node_label.h"
#include "provisioner/controller/open_claims.h"
#include "provisioner/controller/order_controller.h"
#include "provisioner/controller/pending_claim_worker.h"
#include "provisioner/controller/registry_keeper.h"
#include "provisioner/controller/silence_check.h"
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
  Status readiness() const;
  // For those who show what the role does.
  const ClusterView& view() const { return view_; }
  const kube::WorkQueue& queue() const { return loop_.queue(); }

 private:
  Task<void> work(const std::string& key);
  Task<Status> work_on(const std::string& key);
  Task<Status> work_on_claim(const std::string& claim);
  Task<Status> work_on_volume(const std::string& volume);
  Task<void> begin_orders();
  Task<void> follow_claims();
  std::unique_ptr<Roll> make_roll(bool& put_back);
  EventReporter reporter();
  void know_class(const std::string& name);
  bool is_worth_a_pass(const std::string& claim);
  std::optional<Claim> decode(JsonView claim) const;
  std::optional<Volume> decode_own_volume(JsonView object) const;
  Task<void> scan_loop();
  Task<void> republish_rooms();
  // All that is followed.
  auto informers() const { return std::tie(claims_, volumes_, classes_, nodes_, beats_, copies_); }
  bool has_synced() const;
  void watch_changes();
  void enqueue_label(const std::string& node);
  void scan();
  void gather_restless();
  bool rests(const Volume& volume) const;
  void report(const std::string& key, const Status& status);

  kube::ApiClient& api_;
  const Clock& clock_;
  Log& log_;
  ClusterRoleOptions options_;
  ClusterWork& work_;
  ClassNames class_names_;  // that are ours; for good: a bound claim needs us without its class
  kube::Informer<Claim> claims_;
  kube::Informer<Volume> volumes_;
  kube::Informer<StorageClass> classes_;
  kube::Informer<Node> nodes_;
  kube::Informer<NodeHeartbeat> beats_;
  std::unique_ptr<kube::Informer<VolumeCopy>> own_copies_;  // nullptr: somebody else reads them
  kube::Informer<VolumeCopy>& copies_;
  ReconcileLoop loop_;
  kube::WorkQueue& queue_;
  NodeCache node_cache_{nodes_, beats_, clock_, options_.lease_namespace};
  CopyIndex index_{copies_, clock_};
  ClusterView view_{claims_, volumes_,       classes_,         node_cache_,
                    index_,  options_.scope, options_.own_node};
  OpenClaims open_claims_{claims_};
  ImmediatePlacer placer_{api_, view_, clock_, log_, work_};
  SelectedNodeWorker selected_{api_, view_, options_.node_lost_after, reporter(), log_, work_};
  NoRoomReport no_room_{
      view_, reporter(), {options_.immediate, options_.no_room_after}, clock_, work_};
  PendingClaimWorker claim_worker_{view_, placer_, selected_, no_room_, options_.immediate};
  NodeAbsence absence_{api_, node_cache_, clock_, options_.node_delete_grace};
  LostVolumeWorker volume_worker_{api_,       view_, absence_, options_.node_delete_policy,
                                  reporter(), log_,  work_};
  NodeLabeler labeler_{api_, node_cache_, log_, options_.label_nodes};
  FleetRoll* fleet_ = nullptr;  // which roll_ is, of one node
  std::unique_ptr<Roll> roll_;
  OrderController orders_{options_,     api_,   loop_.events(), view_,    copies_,
                          open_claims_, queue_, selected_,      no_room_, absence_,
                          *roll_,       clock_, log_,           work_};
  RegistryKeeper registry_{
      loop_.io(),
      api_,
      view_,
      options_.scope == Scope::kAllNodes ? &orders_.publisher() : nullptr,
      [this] { return has_synced(); },
      {options_.namespace_name, options_.register_driver, options_.registry_interval},
      loop_.events(),
      log_};
  SilenceCheck silence_{api_, node_cache_, log_, options_.scan_interval / 4};
  Restless restless_;   // volumes
  bool gather_ = true;  // all are to be looked at once, for which ones are restless
};

}  // namespace flexlocal::provisioner
