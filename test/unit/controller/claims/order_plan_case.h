// Every standing of a claim and of the copies of its volume in which an order is decided on.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/order_plan.h"
#include "test/unit/objects/said_of_copies.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

inline const std::string kOtherNode = "node-b";

inline VolumeCopy copy_on(const std::string& node, DesiredState desired, const Said& said) {
  CopyOrder order = sample_order();
  order.node = node;
  order.desired = desired;
  VolumeCopy copy{.name = copy_name(order) + node,
                  .uid = "object",
                  .resource_version = "7",
                  .generation = 1,
                  .deleting = false,
                  .order = order,
                  .status = {}};
  copy.status.state = said.state;
  copy.status.observed_generation = 1;
  copy.status.promised = said.promised;
  copy.status.made = said.made;
  copy.status.conditions = {{std::string(kAsOrdered), false, "NoRoom", "the pool is full", {}}};
  return copy;
}

// What a claim is, and what orders there are for it.
struct Case {
  Claim claim = sample_claim();
  StorageClass storage_class = sample_class();
  bool has_class = true;
  bool volume_exists = false;
  std::string node = kNode;
  std::vector<VolumeCopy> copies;
  std::optional<std::chrono::nanoseconds> unanswered_for{};
  bool in_doubt = false;
  std::int64_t term = 0;

  OrderPlan plan() const {
    ClaimSituation now{.claim = claim,
                       .storage_class = has_class ? &storage_class : nullptr,
                       .volume_exists = volume_exists,
                       .copies = {},
                       .in_doubt = in_doubt,
                       .term = term,
                       .node = node,
                       .unanswered_for = unanswered_for};
    for (const VolumeCopy& copy : copies) now.copies.push_back(borrowed(copy));
    return plan_order(now);
  }
  bool may_hold_data(const VolumeCopy& copy) const {
    return copy.order->origin != Origin::kNew ||
           (in_doubt && (copy.status.promised ||
                         (copy.order->term < term && copy.status.state != CopyState::kRefused)));
  }
  bool needs_nothing() const {
    return claim.deleting || !claim.volume_name.empty() || volume_exists;
  }
  bool is_understood() const {
    return std::all_of(copies.begin(), copies.end(), [](const VolumeCopy& copy) {
      return copy.order.ok() && (copy.order->desired != DesiredState::kServing ||
                                 copy.status.state != CopyState::kUnknown);
    });
  }
  static bool is_to_serve(const VolumeCopy& copy) {
    return copy.order && copy.order->desired == DesiredState::kServing && !copy.deleting;
  }
  std::size_t serving() const {
    return static_cast<std::size_t>(std::count_if(copies.begin(), copies.end(), is_to_serve));
  }
  bool has_left_on(const std::string& name) const {
    return std::any_of(copies.begin(), copies.end(), [&](const VolumeCopy& copy) {
      return copy.order->node == name && copy.status.state != CopyState::kRemoved;
    });
  }
  bool is_overdue() const { return unanswered_for && *unanswered_for >= kOrderTimeout; }
  // Another copy is to serve, and not a worse one.
  bool has_better(const VolumeCopy& than) const {
    return std::any_of(copies.begin(), copies.end(), [&](const VolumeCopy& copy) {
      return copy.name != than.name && is_to_serve(copy) &&
             (copy.status.promised || !than.status.promised || may_hold_data(copy));
    });
  }
  bool has_kept() const { return std::any_of(copies.begin(), copies.end(), is_kept); }
  bool has_retained() const {
    return std::any_of(copies.begin(), copies.end(), [](const VolumeCopy& copy) {
      return copy.order && copy.order->desired == DesiredState::kRetained;
    });
  }
  std::string text() const {
    std::string all =
        concat("node '", node, "' bound '", claim.volume_name, "' overdue ", is_overdue() ? 1 : 0);
    for (const VolumeCopy& copy : copies)
      all += concat("; ", copy.name, " state ", static_cast<int>(copy.status.state), " desired ",
                    copy.order ? static_cast<int>(copy.order->desired) : -1);
    return all;
  }
};

inline std::vector<VolumeCopy> copies_that(const std::function<bool(const Said&)>& chosen) {
  std::vector<VolumeCopy> copies;
  for (const std::string& node : {kNode, kOtherNode})
    for (const DesiredState desired : {DesiredState::kServing, DesiredState::kRetained,
                                       DesiredState::kRemoved, DesiredState::kWithdrawn}) {
      for (const Said& said : kSaid)
        if (chosen(said)) copies.push_back(copy_on(node, desired, said));
      if (chosen(kSaidUnknown)) copies.push_back(copy_on(node, desired, kSaidUnknown));
    }
  return copies;
}

// Every way in which the copies of the claim's volume may stand: none, one, or one of them beside
// one of those that differ most.
inline void for_each_standing(const std::function<void(const std::vector<VolumeCopy>&)>& visit) {
  std::vector<VolumeCopy> ones = copies_that([](const Said&) { return true; });
  ones.push_back(ones.front());
  ones.back().deleting = true;
  ones.push_back(ones.front());
  ones.back().order = Error(ErrorCode::kInvalid, "spec.colour is not known");
  const std::vector<VolumeCopy> others = copies_that([](const Said& said) {
    return said.state == CopyState::kUnsaid || said.state == CopyState::kReady ||
           said.state == CopyState::kRemoved;
  });
  visit({});
  for (const VolumeCopy& one : ones) {
    visit({one});
    VolumeCopy found = one;
    if (found.order) found.order->origin = Origin::kExisting;
    visit({found});
    for (VolumeCopy other : others) {
      other.name += "-other";
      visit({found, other});
      visit({one, other});
      visit({other, one});
    }
  }
}

// The claim as it most often is, and each way in which it can be otherwise.
inline constexpr std::array<void (*)(Case&), 6> kOtherwise = {
    [](Case&) {},
    [](Case& one) { one.claim.deleting = true; },
    [](Case& one) { one.claim.volume_name = "pvc-other"; },
    [](Case& one) { one.volume_exists = true; },
    [](Case& one) { one.has_class = false; },
    [](Case& one) {
      one.has_class = false;
      one.claim.marked = false;
    }};

inline void for_each_claim(Case& one, const std::function<void(const Case&)>& visit) {
  const std::array<std::optional<std::chrono::nanoseconds>, 3> unanswered = {
      std::nullopt, std::chrono::milliseconds(9999), kOrderTimeout};
  for (const auto& differs : kOtherwise) {
    one.claim = sample_claim();
    one.volume_exists = false;
    one.has_class = true;
    differs(one);
    for (const std::string& node : {std::string(), kNode, kOtherNode})
      for (const auto& time : unanswered) {
        one.node = one.claim.selected_node = node;
        one.unanswered_for = time;
        visit(one);
      }
  }
}

inline void for_each_case(const std::function<void(const Case&, const OrderPlan&)>& visit) {
  Case one;
  for_each_standing([&](const std::vector<VolumeCopy>& copies) {
    one.copies = copies;
    for (const int doubt : {0, 1, 2}) {
      one.in_doubt = doubt > 0;
      one.term = sample_order().term + (doubt > 1 ? 1 : 0);
      for_each_claim(one, [&](const Case& each) { visit(each, each.plan()); });
    }
  });
}

}  // namespace flexlocal::provisioner::test
