#include "provisioner/controller/claims/order_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "test/unit/controller/claims/order_plan_case.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

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
    {"beside a copy that was withdrawn and that a pod has had nothing is bound or ordered",
     [](const Case& one, const OrderPlan&) {
       return one.has_kept() && one.is_understood() && !one.needs_nothing();
     },
     does<OrderAction::kReport>},
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
       if (is_kept(*plan.copy))
         return plan.reason == (state == CopyState::kRetained ? "VolumeRetained" : "VolumeLost");
       if (is_withdrawn(*plan.copy)) return one.in_doubt && plan.reason == "WaitingForNodes";
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

// Since the backup its PersistentVolume may have come, and pods; and its node follows no order of
// then.
TEST_CASE(
    "after a put-back a withdrawn copy that was promised may hold data, until its node says") {
  Case one;
  one.term = sample_order().term + 1;
  for (const Said& said :
       {Said{CopyState::kPromised, true, false}, Said{CopyState::kReady, true, true}}) {
    one.copies = {copy_on(kOtherNode, DesiredState::kWithdrawn, said)};
    one.in_doubt = true;
    CHECK(one.plan().reason == "WaitingForNodes");
    one.in_doubt = false;
    CHECK(one.plan().action == OrderAction::kGiveOrder);
  }
  one.in_doubt = true;
  one.copies = {copy_on(kOtherNode, DesiredState::kWithdrawn, {CopyState::kRemoved, true, true})};
  CHECK(one.plan().action == OrderAction::kGiveOrder);
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
