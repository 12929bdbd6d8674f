// What to do for a claim that has no PersistentVolume, by the orders that there are for it: a pure
// decision.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/controller/claims/serving_copy.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

struct ClaimSituation {
  const Claim& claim;
  const StorageClass* storage_class = nullptr;  // nullptr: none of that name that is ours
  bool volume_exists = false;                   // its PersistentVolume
  std::vector<KnownCopy> copies{};              // of its volume
  KnownCopy holding{};                          // see kHoldsAnnotation
  // The API server may have been put back: of an order of an earlier term than `term`, which is
  // this leader's, it may not know the answer, and of a copy not that it had a PersistentVolume.
  bool in_doubt = false;
  std::int64_t term = 0;
  // The node that was chosen for it, by the scheduler or for an Immediate claim; empty: none.
  std::string node{};
  // Since when the order that is to serve has not been answered; nullopt: it is.
  std::optional<std::chrono::nanoseconds> unanswered_for{};
};

enum class OrderAction {
  kNone,
  kWait,       // for the node's answer, at the longest until kOrderTimeout
  kRefuse,     // no node can serve it: `why`
  kUnassign,   // the chosen node cannot have it now: `why`
  kGiveOrder,  // a copy on the chosen node: `order`
  kWithdraw,   // the order `copy`, of a new volume that no pod has had; `why` for the claim, empty:
               // its own doing
  kBind,       // the PersistentVolume of `copy`
  kReport      // a person has to do something: `why`, as the event `reason`
};

struct OrderPlan {
  OrderAction action = OrderAction::kNone;
  std::string why{};
  std::optional<Order> order{};
  KnownCopy copy{};
  std::string_view reason{};
};

OrderPlan plan_order(const ClaimSituation& now);

}  // namespace flexlocal::provisioner
