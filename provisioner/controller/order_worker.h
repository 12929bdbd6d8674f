// Carries out the plan for a claim that has no PersistentVolume: orders a copy, waits for its
// node's answer, makes the PersistentVolume or hands the claim back.
#pragma once

#include <optional>
#include <string>

#include "provisioner/controller/claims/order_plan.h"
#include "provisioner/controller/cluster_view.h"
#include "provisioner/controller/no_room_report.h"
#include "provisioner/controller/node_chooser.h"
#include "provisioner/controller/order_desk.h"
#include "provisioner/controller/provisioning_report.h"
#include "provisioner/controller/roll.h"
#include "provisioner/controller/selected_node_worker.h"
#include "provisioner/controller/unmatched_volumes.h"
#include "provisioner/controller/volume_binder.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class OrderWorker {
 public:
  // To be made before the volumes are followed.
  OrderWorker(kube::ApiClient& api, ClusterView& view, OrderDesk& desk, NodeChooser& chooser,
              SelectedNodeWorker& selected, NoRoomReport& no_room, Roll& roll, VolumeBinder& binder,
              ProvisioningReport& report, ImmediateBinding immediate, Log& log)
      : api_(api),
        view_(view),
        desk_(desk),
        chooser_(chooser),
        selected_(selected),
        no_room_(no_room),
        roll_(roll),
        binder_(binder),
        report_(report),
        immediate_(immediate),
        log_(log),
        unmatched_(view.volumes) {}

  // One pass over the claim "namespace/name". Returns after which time it is to be looked at again
  // whatever happens; nullopt: not before something changes.
  Task<Requeue> work(const std::string& key);

 private:
  OrderPlan plan(const Claim& claim) const;
  Task<Requeue> carry_out(const Claim& claim, const OrderPlan& plan);
  Task<Requeue> give(const Claim& claim, const Order& decided);
  Task<Status> adopt(const Claim& claim, const Order& decided, const UnorderedCopies::Found& found);
  Task<Status> resolve_size(const Claim& claim, Order& order) const;
  void wait_for_roll(const Claim& claim);
  RequeueAfter check_other_copies(const Claim& claim, const VolumeCopy& copy);
  Result<CopyOrder> order_for(const Claim& claim, const Order& order, const Node& node) const;
  Task<Status> withdraw(const Claim& claim, const VolumeCopy& copy, const std::string& why);
  Task<Status> refuse_node(const Claim& claim, const std::string& node, const std::string& why);
  bool waits_for_node(const Claim& claim) const;
  bool has_volume(const Claim& claim) const;
  bool is_others_to_order(const Claim& claim) const;
  RequeueAfter hold_for_another(const Claim& claim);
  bool is_immediate(const Claim& claim) const;

  kube::ApiClient& api_;
  ClusterView& view_;
  OrderDesk& desk_;
  NodeChooser& chooser_;
  SelectedNodeWorker& selected_;
  NoRoomReport& no_room_;
  Roll& roll_;
  VolumeBinder& binder_;
  ProvisioningReport& report_;
  ImmediateBinding immediate_;
  Log& log_;
  UnmatchedVolumes unmatched_;
};

}  // namespace flexlocal::provisioner
