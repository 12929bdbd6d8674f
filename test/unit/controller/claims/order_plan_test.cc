#include "provisioner/controller/claims/order_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "flexvolume/base/text.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kOtherNode = "node-b";

// What can have been said of a copy.
struct Said {
  CopyState state;
  bool promised;
  bool made;
};
constexpr std::array<Said, 13> kSaid = {{{CopyState::kUnsaid, false, false},
                                         {CopyState::kPromised, true, false},
                                         {CopyState::kPromised, true, true},
                                         {CopyState::kReady, true, true},
                                         {CopyState::kRetained, true, true},
                                         {CopyState::kRemoving, false, false},
                                         {CopyState::kRemoving, true, true},
                                         {CopyState::kRemoved, false, false},
                                         {CopyState::kRemoved, true, true},
                                         {CopyState::kRefused, false, false},
                                         {CopyState::kRefused, true, false},
                                         {CopyState::kLost, true, false},
                                         {CopyState::kUnknown, true, true}}};

VolumeCopy copy_on(const std::string& node, DesiredState desired, const Said& said) {
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

std::vector<VolumeCopy> copies_that(const std::function<bool(const Said&)>& chosen) {
  std::vector<VolumeCopy> copies;
  for (const std::string& node : {kNode, kOtherNode})
    for (const DesiredState desired :
         {DesiredState::kServing, DesiredState::kRetained, DesiredState::kRemoved})
      for (const Said& said : kSaid)
        if (chosen(said)) copies.push_back(copy_on(node, desired, said));
  return copies;
}

// Every way in which the copies of the claim's volume may stand: none, one, or one of them beside
// one of those that differ most.
void for_each_standing(const std::function<void(const std::vector<VolumeCopy>&)>& visit) {
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
constexpr std::array<void (*)(Case&), 6> kOtherwise = {
    [](Case&) {},
    [](Case& one) { one.claim.deleting = true; },
    [](Case& one) { one.claim.volume_name = "pvc-other"; },
    [](Case& one) { one.volume_exists = true; },
    [](Case& one) { one.has_class = false; },
    [](Case& one) {
      one.has_class = false;
      one.claim.marked = false;
    }};

void for_each_claim(Case& one, const std::function<void(const Case&)>& visit) {
  const std::array<std::optional<std::chrono::nanoseconds>, 3> unanswered = {
      std::nullopt, milliseconds(9999), kOrderTimeout};
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

void for_each_case(const std::function<void(const Case&, const OrderPlan&)>& visit) {
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

struct Rule {
  const char* name;
  // Whether it is asked at all, and whether it holds then.
  bool (*asked)(const Case&, const OrderPlan&);
  bool (*holds)(const Case&, const OrderPlan&);
};

template <OrderAction action>
bool does(const Case&, const OrderPlan& plan) {
  return plan.action == action;
}

const Rule kRules[] = {
    {"what a PersistentVolume exists for, and what needs none, is not touched",
     [](const Case& one, const OrderPlan&) { return one.needs_nothing(); },
     does<OrderAction::kNone>},
    {"only a promised or ready copy is bound, that may be mounted where the scheduler chose",
     does<OrderAction::kBind>,
     [](const Case& one, const OrderPlan& plan) {
       return (plan.copy->status.state == CopyState::kPromised ||
               plan.copy->status.state == CopyState::kReady) &&
              plan.copy->order->desired == DesiredState::kServing && !plan.copy->deleting &&
              (one.node.empty() || one.node == plan.copy->order->node ||
               one.may_hold_data(*plan.copy));
     }},
    {"none is bound while there is another that is to serve and can be withdrawn",
     does<OrderAction::kBind>,
     [](const Case& one, const OrderPlan& plan) {
       return std::all_of(one.copies.begin(), one.copies.end(), [&](const VolumeCopy& copy) {
         return copy.name == plan.copy->name || !Case::is_to_serve(copy) || one.may_hold_data(copy);
       });
     }},
    {"no second order is given while one is to serve, or of one volume is still on the node",
     does<OrderAction::kGiveOrder>,
     [](const Case& one, const OrderPlan&) {
       return one.serving() == 0 && !one.node.empty() && !one.has_left_on(one.node);
     }},
    {"nothing empty is made beside data of the claim's that is kept", does<OrderAction::kGiveOrder>,
     [](const Case& one, const OrderPlan&) { return !one.has_retained(); }},
    {"an order is given for what its class makes", does<OrderAction::kGiveOrder>,
     [](const Case& one, const OrderPlan& plan) {
       return one.has_class && plan.order->name.text() == "pvc-" + kUid;
     }},
    {"nothing is decided beside a copy that is not understood",
     [](const Case& one, const OrderPlan&) { return !one.is_understood(); },
     [](const Case& one, const OrderPlan& plan) {
       return plan.action == (one.needs_nothing() ? OrderAction::kNone : OrderAction::kReport);
     }},
    {"only an order that is to serve is withdrawn, and never what is retained",
     does<OrderAction::kWithdraw>,
     [](const Case&, const OrderPlan& plan) {
       return Case::is_to_serve(*plan.copy) && plan.copy->order->desired == DesiredState::kServing;
     }},
    {"an order is withdrawn only if it was never promised, or was given up, or the scheduler chose "
     "another node, or another copy is to serve",
     does<OrderAction::kWithdraw>,
     [](const Case& one, const OrderPlan& plan) {
       const bool refused = plan.copy->status.state == CopyState::kRefused;
       const bool silent = plan.copy->status.state == CopyState::kUnsaid && one.is_overdue();
       const bool chosen_elsewhere = !one.node.empty() && one.node != plan.copy->order->node;
       return refused || silent || chosen_elsewhere || one.has_better(*plan.copy);
     }},
    {"why an order is withdrawn is said only where its node is to blame",
     does<OrderAction::kWithdraw>,
     [](const Case& one, const OrderPlan& plan) {
       const bool own_doing =
           one.serving() > 1 || (!one.node.empty() && one.node != plan.copy->order->node);
       // In doubt the other one is left, and this one may be refused meanwhile.
       const bool refused_in_doubt = one.in_doubt && plan.copy->status.state == CopyState::kRefused;
       return plan.why.empty() == own_doing || refused_in_doubt;
     }},
    {"a claim is handed back only where nothing is to serve, and of a copy that is left there",
     does<OrderAction::kUnassign>,
     [](const Case& one, const OrderPlan& plan) {
       return one.serving() == 0 && one.has_left_on(one.node) && !plan.why.empty();
     }},
    {"only a marked claim is refused, and only what has no order", does<OrderAction::kRefuse>,
     [](const Case& one, const OrderPlan& plan) {
       return one.claim.marked && !one.has_class && one.serving() == 0 && !plan.why.empty();
     }},
    {"a person is told of what is lost, retained, or refused although it was found",
     does<OrderAction::kReport>,
     [](const Case& one, const OrderPlan& plan) {
       if (plan.why.empty()) return false;
       if (!one.is_understood()) return plan.reason == "NotUnderstood";
       const CopyState state = plan.copy->status.state;
       const bool retained = plan.copy->order->desired == DesiredState::kRetained;
       const bool lost = state == CopyState::kLost ||
                         (state == CopyState::kRefused && one.may_hold_data(*plan.copy));
       const bool silent = state == CopyState::kUnsaid && one.is_overdue() &&
                           one.may_hold_data(*plan.copy) && one.in_doubt;
       if (retained) return one.serving() == 0 && plan.reason == "VolumeRetained";
       return silent ? plan.reason == "WaitingForNodes" : lost && plan.reason == "VolumeLost";
     }},
    {"what may hold data is not withdrawn, whatever the scheduler or its node says",
     [](const Case& one, const OrderPlan& plan) {
       return plan.action == OrderAction::kWithdraw &&
              std::any_of(one.copies.begin(), one.copies.end(), [&](const VolumeCopy& copy) {
                return copy.order && one.may_hold_data(copy);
              });
     },
     [](const Case& one, const OrderPlan& plan) { return !one.may_hold_data(*plan.copy); }},
};

}  // namespace

TEST_CASE("what is decided about a claim's orders keeps to the rules, whatever there is") {
  std::map<std::string, int> asked;
  std::map<std::string, std::string> broken;
  for_each_case([&](const Case& one, const OrderPlan& plan) {
    for (const Rule& rule : kRules) {
      if (!rule.asked(one, plan)) continue;
      ++asked[rule.name];
      if (!rule.holds(one, plan))
        broken.try_emplace(rule.name,
                           concat("action ", static_cast<int>(plan.action), ": ", one.text()));
    }
  });
  for (const Rule& rule : kRules) {
    INFO(std::string(rule.name));
    CHECK(asked[rule.name] > 0);
    CHECK(broken[rule.name] == "");
  }
}

TEST_CASE("a claim without orders gets one on the node that was chosen, marked or not") {
  Case one;
  for (const bool marked : {true, false}) {
    one.claim.marked = marked;
    CHECK(one.plan().action == OrderAction::kGiveOrder);
  }
  one.node.clear();
  CHECK(one.plan().action == OrderAction::kNone);
}

TEST_CASE("a node has ten seconds to answer, and then the claim is told for how long it did not") {
  Case one;
  one.copies = {copy_on(kNode, DesiredState::kServing, {CopyState::kUnsaid, false, false})};
  one.copies.front().status.conditions.clear();
  one.unanswered_for = kOrderTimeout - std::chrono::nanoseconds(1);
  CHECK(one.plan().action == OrderAction::kWait);
  one.unanswered_for = kOrderTimeout;
  const OrderPlan plan = one.plan();
  CHECK(plan.action == OrderAction::kWithdraw);
  CHECK(plan.why == "the node daemon of node node-a has not answered for 10 s");
}

TEST_CASE("what was promised is not taken from a node that has become silent") {
  Case one;
  one.unanswered_for = seconds(1000);
  for (const CopyState state : {CopyState::kPromised, CopyState::kReady, CopyState::kLost}) {
    one.copies = {copy_on(kNode, DesiredState::kServing, {state, true, false})};
    CHECK(one.plan().action != OrderAction::kWithdraw);
  }
}

TEST_CASE("a refusal goes to the claim in the node's own words") {
  Case one;
  one.copies = {copy_on(kNode, DesiredState::kServing, {CopyState::kRefused, false, false})};
  CHECK(one.plan().why == "node node-a cannot have the volume: the pool is full");
  one.copies.front().status.conditions.clear();
  CHECK(one.plan().why == "node node-a cannot have the volume: it gave no reason");
}

TEST_CASE("of several copies the promised one stays, and of equal ones the first") {
  struct Row {
    Said first, second;
    const std::string& withdrawn_on;
  };
  const Said unsaid{CopyState::kUnsaid, false, false};
  const Said promised{CopyState::kPromised, true, false};
  Case one;
  one.node.clear();
  for (const Row& row : {Row{unsaid, promised, kNode}, Row{promised, unsaid, kOtherNode},
                         Row{unsaid, unsaid, kOtherNode}, Row{promised, promised, kOtherNode}}) {
    one.copies = {copy_on(kNode, DesiredState::kServing, row.first),
                  copy_on(kOtherNode, DesiredState::kServing, row.second)};
    const OrderPlan plan = one.plan();
    REQUIRE(plan.action == OrderAction::kWithdraw);
    CHECK(plan.copy->order->node == row.withdrawn_on);
  }
}

TEST_CASE("an order withdrawn elsewhere holds nobody up, and one on the same node does") {
  Case one;
  const Said removing{CopyState::kRemoving, false, false};
  const Said removed{CopyState::kRemoved, false, false};
  one.copies = {copy_on(kOtherNode, DesiredState::kRemoved, removing)};
  CHECK(one.plan().action == OrderAction::kGiveOrder);
  one.copies = {copy_on(kNode, DesiredState::kRemoved, removing)};
  const OrderPlan plan = one.plan();
  CHECK(plan.action == OrderAction::kUnassign);
  CHECK(plan.why == "node node-a has not removed an earlier copy of the volume yet");
  one.copies = {copy_on(kNode, DesiredState::kRemoved, removed)};
  CHECK(one.plan().action == OrderAction::kGiveOrder);
}

}  // namespace flexlocal::provisioner::test
