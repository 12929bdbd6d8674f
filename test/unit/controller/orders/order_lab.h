// The workers that give orders, on an API server in memory and with nodes that answer when a test
// says so.
#pragma once

#include "provisioner/controller/ends/copy_collector.h"
#include "provisioner/controller/ends/volume_end_worker.h"
#include "provisioner/controller/orders/growth_orderer.h"
#include "provisioner/controller/orders/order_worker.h"
#include "provisioner/controller/orders/replacement_worker.h"
#include "provisioner/controller/view/roll_caller.h"
#include "provisioner/objects/paths.h"
#include "test/unit/controller/cluster_lab.h"
#include "test/unit/controller/object_server.h"
#include "test/unit/controller/orders/pending_lab.h"
#include "test/unit/objects/json_merge.h"

namespace flexlocal::provisioner::test {

inline const std::string kOtherNode = "node-b";
inline constexpr Bytes kTenGiB{10 * kGiB.count()};
inline constexpr std::int64_t kTerm = 7;
// How long a node must be gone to be gone for good.
inline constexpr std::chrono::minutes kNodeGrace{10};

// The text of a Node with uid and hostname.
std::string ready_node(const std::string& name);
// The Lease of a node daemon that carries out orders, up to those of that term.
// `sees`: the names of the VolumeCopies that it knows; `told`: what it has beside them; `counted`:
// ids of those that its figures have.
std::string beat_of(const std::string& node, int renewed, Bytes free, std::int64_t term = 0,
                    std::vector<std::string> sees = {}, std::vector<ToldCopy> told = {},
                    Bytes unit = {}, std::vector<std::string> counted = {});

// One ready node with 10 GiB in pool "default", the class "local", and no claim.
struct OrderLab : ClusterLab {
  ObjectServer server;
  OrdersUnderWay under_way;
  OrderDesk desk{api, copies, under_way, log};
  PendingLab pending{*this};
  bool put_back = false;
  RollCaller roll{node_cache, index, "", manual, log, put_back};
  UnorderedCopies unordered{node_cache, index};
  NodeChooser chooser{view, under_way, manual};
  OrderDrafter drafter{api, view, desk};
  ProvisioningReport report{reporter(), log, work};
  VolumeBinder binder{api, view, report};
  NodeAssigner assigner{view, chooser, pending.selected, pending.no_room, report};
  PriorCopies prior{view, roll, desk, report};
  CopyOrderer orderer{prior, assigner, drafter, desk, report};
  ClaimBinder claim_binder{prior, binder, desk, assigner};
  OrderPlanner planner{view, desk, roll, ImmediateBinding::kCentral};
  OrderWorker orders{view, planner, orderer, claim_binder, assigner, report};
  VolumeEndWorker ends{api, view, desk, reporter(), log, work.volumes.remove};
  GrowthOrderer growths{api, view, desk, reporter(), manual, work.volumes.grow};
  NodeAbsence absence{api, node_cache, manual, kNodeGrace};
  OrphanOptions orphan_options;
  CopyOwners owners{api, view};
  OrphanAges orphan_ages{orphan_options, manual};
  OrphanReport orphan_report{orphan_ages, reporter(), manual, log};
  OrphanRemoval orphan_removal{owners, roll, desk, orphan_ages, orphan_report, orphan_options};
  OrphanedCopyWorker orphans{view,           owners,        orphan_ages,
                             orphan_removal, orphan_report, orphan_options};
  RemovedCopies removed_copies{desk, manual};
  NodelessCopies nodeless_copies{view, absence, desk, orphan_options, log};
  UnneededCopyWorker unneeded{view, owners, roll, desk, orphans, nodeless_copies};
  CopyCollector collector{view, owners, removed_copies, nodeless_copies, orphans, unneeded};
  ReplacementReport replacement_report{reporter(), log, work};
  VolumeReplacer replacer{api, view, binder, replacement_report};
  ReplacementOrderer replacement_orderer{view, roll, chooser, drafter, desk, replacement_report};
  ReplacementWorker replacements{
      view, roll, desk, replacement_orderer, replacer, replacement_report};
  const std::string volume = "pvc-" + kUid;

  OrderLab();

  // Puts it on the server, and shows it as the watch does.
  void know_node(const std::string& name, Bytes free = kTenGiB);
  void know_claim(const Claim& claim);
  void know_volume(const std::string& phase) {
    put(volumes, server.put(kVolumePath, volume_text(sample_spec(), phase)));
  }
  // Of its status and metadata; the watch shows it.
  void change_volume(const std::string& patch) { put(volumes, server.patch(kVolumePath, patch)); }
  void know_copy(const CopyOrder& order);
  // The time goes on, and the nodes' daemons beat.
  void pass(std::chrono::seconds time);
  // One of them beats: what it sees of its orders, and has beside them.
  void beat(const std::string& node, std::int64_t term = 0);
  std::map<std::string, std::vector<ToldCopy>> beside;  // by node
  // Of all nodes, from the next beat on: the unit of their disks, 0: they do not say; and the ids
  // of copies that their figures have.
  Bytes unit{};
  std::vector<std::string> counted;

  // The only copy that the server has, as it is there.
  VolumeCopy copy() const;
  CopyOrder order() const { return *copy().order; }
  std::size_t copy_count() const { return server.paths(copies_path()).size(); }
  // The node answers the order as it is, and the watch shows it.
  void answer(CopyState state, const std::string& why = "");
  void answer(const VolumeCopy& known, CopyStatus status);
  bool has_volume() const { return server.has(kVolumePath); }
  Volume volume_there() const { return decoded_volume(server.text(kVolumePath)); }
  // The claim as the server has it.
  Claim claim_there() const;
  bool event_says(const std::string& text) { return events_text().find(text) != std::string::npos; }
  // Whether the leader's counters show that line.
  bool counts(const std::string& line) const;
  const std::string& events_text();

 private:
  std::map<std::string, Bytes> free_;  // by node
  int second_ = 0;
  std::optional<std::string> events_;
};

}  // namespace flexlocal::provisioner::test
