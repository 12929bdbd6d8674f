// Carries out the plan for a claim that has no PersistentVolume: orders a copy, waits for its
// node's answer, makes the PersistentVolume or hands the claim back.
#pragma once

#include <optional>
#include <string>

#include "provisioner/controller/claims/order_plan.h"
#include "provisioner/controller/cluster_parts.h"
#include "provisioner/controller/copy_index.h"
#include "provisioner/controller/node_chooser.h"
#include "provisioner/controller/order_desk.h"
#include "provisioner/controller/pending_claim_worker.h"
#include "provisioner/controller/roll.h"
#include "provisioner/controller/unmatched_volumes.h"
#include "provisioner/controller/unordered_copies.h"
#include "provisioner/controller/volume_binder.h"
#include "provisioner/work/news_filter.h"

namespace flexlocal::provisioner {

class OrderWorker {
 public:
  // To be made before the volumes are followed.
  OrderWorker(ClusterParts& parts, OrderDesk& desk, CopyIndex& index, NodeChooser& chooser,
              PendingClaimWorker& pending, Roll& roll)
      : parts_(parts),
        desk_(desk),
        index_(index),
        chooser_(chooser),
        pending_(pending),
        roll_(roll),
        binder_(parts, desk, index),
        unmatched_(parts.volumes) {}

  // One pass over the claim "namespace/name". Returns after which time it is to be looked at again
  // whatever happens; nullopt: not before something changes.
  Task<Result<std::optional<std::chrono::nanoseconds>>> work(const std::string& key);

 private:
  using Again = Result<std::optional<std::chrono::nanoseconds>>;

  OrderPlan plan(const Claim& claim) const;
  Task<Again> carry_out(const Claim& claim, const OrderPlan& plan);
  Task<Again> give(const Claim& claim, const Order& decided);
  Task<Status> adopt(const Claim& claim, const Order& decided, const UnorderedCopies::Found& found);
  Task<Status> take_size(const Claim& claim, Order& order) const;
  void wait_for_roll(const Claim& claim);
  std::optional<std::chrono::nanoseconds> check_other_copies(const Claim& claim,
                                                             const VolumeCopy& copy);
  Result<CopyOrder> order_for(const Claim& claim, const Order& order, const Node& node) const;
  Task<Status> withdraw(const Claim& claim, const VolumeCopy& copy, const std::string& why);
  Task<Status> refuse_node(const Claim& claim, const std::string& node, const std::string& why);
  bool waits_for_choice(const Claim& claim) const;
  bool has_volume(const Claim& claim) const;
  bool is_others_to_order(const Claim& claim) const;
  std::optional<std::chrono::nanoseconds> hold_for_another(const Claim& claim);
  bool is_immediate(const Claim& claim) const;
  // A try that came to nothing, in words.
  void fail(const Claim& claim, const std::string& why);
  void say(const Claim& claim, kube::EventType type, std::string_view reason,
           const std::string& message);

  ClusterParts& parts_;
  OrderDesk& desk_;
  CopyIndex& index_;
  NodeChooser& chooser_;
  PendingClaimWorker& pending_;
  Roll& roll_;
  VolumeBinder binder_;
  UnmatchedVolumes unmatched_;
  NewsFilter news_;  // by claim, of what waits for the roll call
};

}  // namespace flexlocal::provisioner
