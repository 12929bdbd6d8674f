#include "provisioner/agent/copy_plan.h"

#include <doctest/doctest.h>

#include <array>

#include "flexvolume/base/text.h"
#include "test/unit/agent/copy_plan_case.h"

namespace flexlocal::provisioner::test {
namespace {

struct Rule {
  const char* name;
  // Whether it is asked at all, and whether it holds then.
  bool (*asked)(const PlanCase&, const CopyPlan&);
  bool (*holds)(const PlanCase&, const CopyPlan&);
};

template <CopyAction action>
bool does(const PlanCase&, const CopyPlan& plan) {
  return plan.action == action;
}
template <CopyState state>
bool is_called(const PlanCase&, const CopyPlan& plan) {
  return plan.state == state && plan.trouble == CopyTrouble::kNone;
}

// Of itself it says nothing: that comes with what is decided next.
bool repeats_what_was_said(const CopyPlan& plan) {
  return plan.action == CopyAction::kReadAnew || plan.action == CopyAction::kAdopt ||
         plan.action == CopyAction::kClose;
}

const Rule kRules[] = {
    {"a copy is promised only where nobody has, and nothing of it was ever said or is known",
     does<CopyAction::kPromise>,
     [](const PlanCase& one, const CopyPlan&) {
       return one.order().origin == Origin::kNew && one.copy.status.state == CopyState::kUnsaid &&
              one.fresh && !one.in_doubt && one.wants(DesiredState::kServing) &&
              !one.has_record() && one.host.disk == DiskStage::kNone;
     }},
    {"nothing is removed but by an order that says so now, and never another copy's",
     does<CopyAction::kRemove>,
     [](const PlanCase& one, const CopyPlan&) {
       return one.wants_it_gone() && one.fresh && !one.in_doubt && !one.host.open &&
              (one.is_record_of_this() || one.is_disk_of_this()) && !one.is_any_of_another() &&
              one.host.disk != DiskStage::kForeign && one.host.disk != DiskStage::kUnseen &&
              one.host.record != RecordStage::kDamaged;
     }},
    {"a withdrawn copy goes only where no pod may have had it",
     [](const PlanCase& one, const CopyPlan& plan) {
       return one.wants(DesiredState::kWithdrawn) && plan.trouble == CopyTrouble::kNone &&
              (plan.action == CopyAction::kRemove || plan.action == CopyAction::kWithdraw ||
               plan.action == CopyAction::kClose ||
               (plan.action == CopyAction::kNone && plan.state == CopyState::kRemoved));
     },
     [](const PlanCase& one, const CopyPlan&) { return one.is_free_to_go(); }},
    {"a copy is made only from its own record, once the API server knows, and never after it was",
     does<CopyAction::kMake>,
     [](const PlanCase& one, const CopyPlan&) {
       return one.is_begun() && one.is_record_of_this() && one.copy.status.promised &&
              !one.host.retained && one.wants(DesiredState::kServing) && !one.is_any_of_another() &&
              one.host.disk != DiskStage::kForeign && one.host.disk != DiskStage::kWiping &&
              one.host.disk != DiskStage::kUnseen && one.copy.status.state != CopyState::kRefused &&
              (one.is_disk_of_this() || !one.copy.status.made);
     }},
    {"only what is ready by its tags is taken up, by an order that is sure",
     does<CopyAction::kAdopt>,
     [](const PlanCase& one, const CopyPlan&) {
       return !one.has_record() && one.is_disk_of_this() && one.host.disk == DiskStage::kReady &&
              !one.wants(DesiredState::kRemoved) && one.fresh && !one.in_doubt;
     }},
    {"nobody may mount again but by an order that is sure", does<CopyAction::kRelease>,
     [](const PlanCase& one, const CopyPlan&) {
       return one.fresh && !one.in_doubt && one.wants(DesiredState::kServing) &&
              one.is_record_of_this();
     }},
    {"only a promise of which nothing was made is given up", does<CopyAction::kGiveUp>,
     [](const PlanCase& one, const CopyPlan&) {
       return one.host.record == RecordStage::kPromised && !one.is_disk_ours() &&
              !one.copy.status.made && !one.host.open && one.is_record_of_this();
     }},
    {"a record alone is taken away only where it says that nothing was made",
     does<CopyAction::kWithdraw>,
     [](const PlanCase& one, const CopyPlan&) {
       return one.wants_it_gone() && one.fresh && !one.in_doubt && one.is_record_of_this() &&
              !one.is_disk_ours() &&
              (one.host.record == RecordStage::kPromised ||
               one.host.record == RecordStage::kRefused);
     }},
    {"a record is not given to other pods under those that have the volume",
     does<CopyAction::kRecord>,
     [](const PlanCase& one, const CopyPlan&) {
       return one.is_record_of_this() && !one.is_any_of_another() &&
              (one.lets_mount_as_ordered() ||
               ((!one.host.open || one.is_closed()) && one.fresh && !one.in_doubt));
     }},
    {"an earlier order than the record's changes nothing, and is not passed over in silence",
     [](const PlanCase& one, const CopyPlan&) { return one.is_rolled_back(); },
     [](const PlanCase& one, const CopyPlan& plan) {
       return plan.action == CopyAction::kReadAnew
                  ? !one.fresh
                  : plan.action == CopyAction::kNone && plan.trouble != CopyTrouble::kNone;
     }},
    {"the order of another object is read from the API server before it is followed",
     [](const PlanCase& one, const CopyPlan&) {
       return one.is_record_of_this() && one.host.order_uid == kOther && !one.fresh;
     },
     [](const PlanCase&, const CopyPlan& plan) {
       return plan.action == CopyAction::kReadAnew ||
              (plan.action == CopyAction::kNone && plan.trouble != CopyTrouble::kNone);
     }},
    {"what was just read from the API server is not asked for again",
     [](const PlanCase& one, const CopyPlan&) { return one.fresh; },
     [](const PlanCase&, const CopyPlan& plan) { return plan.action != CopyAction::kReadAnew; }},
    {"what was said to be here and is not is lost",
     [](const PlanCase& one, const CopyPlan&) {
       const bool none = one.host.disk == DiskStage::kNone || one.host.disk == DiskStage::kForeign;
       const bool unknown = one.copy.status.promised && !one.has_record() &&
                            one.copy.status.state != CopyState::kRefused;
       const bool rolled_back = one.copy.status.made && one.is_begun() && one.is_record_of_this() &&
                                one.host.order_uid == kObject && !one.is_rolled_back();
       const bool goes = one.wants(DesiredState::kRemoved) ||
                         (one.wants(DesiredState::kWithdrawn) && one.is_free_to_go());
       return none && (unknown || rolled_back) && !goes && !one.is_wiped();
     },
     [](const PlanCase&, const CopyPlan& plan) {
       return plan.action == CopyAction::kNone && plan.state == CopyState::kLost &&
              plan.trouble != CopyTrouble::kNone;
     }},
    {"a copy is ready only where record and disk say so, to the pods that the order says",
     is_called<CopyState::kReady>,
     [](const PlanCase& one, const CopyPlan& plan) {
       if (repeats_what_was_said(plan)) return true;
       return one.host.record == RecordStage::kReady && one.is_record_of_this() &&
              one.is_disk_of_this() && one.host.disk != DiskStage::kWiping && !one.host.retained &&
              (one.lets_mount_as_ordered() || plan.action == CopyAction::kRecord ||
               plan.action == CopyAction::kRetain);
     }},
    {"a copy is called removed only where the order says so and nothing of it is here",
     is_called<CopyState::kRemoved>,
     [](const PlanCase& one, const CopyPlan& plan) {
       if (repeats_what_was_said(plan)) return true;
       return one.wants_it_gone() && one.fresh && !one.in_doubt && !one.is_record_of_this() &&
              !one.is_disk_of_this() && one.host.record != RecordStage::kDamaged &&
              (one.host.disk != DiskStage::kUnseen || one.is_untouched());
     }},
    {"of a removal that was taken back it is said that it had come to its end, once that is sure",
     [](const PlanCase&, const CopyPlan& plan) { return plan.trouble == CopyTrouble::kWiped; },
     [](const PlanCase& one, const CopyPlan& plan) {
       return one.is_wiped() && one.fresh && !one.in_doubt && plan.state == CopyState::kRemoved &&
              plan.action == CopyAction::kNone && !one.is_any_of_another();
     }},
    {"of a removal that had come to its end when it was taken back, that is said",
     [](const PlanCase& one, const CopyPlan&) {
       return one.is_wiped() && one.fresh && !one.in_doubt;
     },
     [](const PlanCase&, const CopyPlan& plan) {
       return plan.trouble == CopyTrouble::kWiped && plan.state == CopyState::kRemoved;
     }},
    {"where another copy has the place, nothing of it is touched",
     [](const PlanCase& one, const CopyPlan&) { return one.is_any_of_another(); },
     [](const PlanCase&, const CopyPlan& plan) {
       return plan.action == CopyAction::kNone || plan.action == CopyAction::kReadAnew;
     }},
    {"where the disks are not to be seen, nothing is done or said anew of what may be there",
     [](const PlanCase& one, const CopyPlan&) {
       return one.host.disk == DiskStage::kUnseen && !one.is_untouched();
     },
     [](const PlanCase& one, const CopyPlan& plan) {
       return plan.action == CopyAction::kNone && plan.state == one.copy.status.state &&
              plan.trouble != CopyTrouble::kNone;
     }},
    {"a volume is closed to further pods only where it is to be removed for sure",
     does<CopyAction::kClose>,
     [](const PlanCase& one, const CopyPlan&) {
       return one.wants_it_gone() && one.fresh && !one.in_doubt && one.is_record_of_this() &&
              !one.is_any_of_another();
     }},
    {"what is not as it should be and is not being mended has a reason",
     [](const PlanCase& one, const CopyPlan& plan) {
       return plan.action == CopyAction::kNone && one.fresh;
     },
     [](const PlanCase& one, const CopyPlan& plan) {
       const bool as_ordered =
           (one.wants(DesiredState::kServing) && plan.state == CopyState::kReady) ||
           (is_to_be_kept(one.order().desired) && plan.state == CopyState::kRetained) ||
           (one.wants_it_gone() && plan.state == CopyState::kRemoved);
       // The answer is on its way, and what follows waits for it.
       const bool answers = plan.state == CopyState::kPromised && !one.copy.status.promised;
       return plan.trouble != CopyTrouble::kNone || as_ordered || answers;
     }}};

TEST_CASE("what an agent does about every order, answer and host keeps the rules") {
  constexpr std::size_t kCount = std::size(kRules);
  std::array<std::size_t, kCount> asked{};
  std::array<std::string, kCount> broken{};
  std::size_t cases = 0;
  for_each_order([&](PlanCase& order) {
    for_each_host(order, [&](const PlanCase& one) {
      ++cases;
      const CopyPlan plan = one.plan();
      for (std::size_t i = 0; i < kCount; ++i) {
        if (!kRules[i].asked(one, plan)) continue;
        ++asked[i];
        if (broken[i].empty() && !kRules[i].holds(one, plan))
          broken[i] = concat(one.text(), " gives ", static_cast<int>(plan.action), ' ',
                             static_cast<int>(plan.state), ' ', static_cast<int>(plan.trouble));
      }
    });
  });
  CHECK(cases == 504U * 14112U);
  for (std::size_t i = 0; i < kCount; ++i) {
    CAPTURE(kRules[i].name);
    CHECK(asked[i] > 0);
    CHECK(broken[i] == "");
  }
}

TEST_CASE("a copy is kept once both its record and its tags say so") {
  PlanCase one;
  one.order().desired = DesiredState::kRetained;
  one.says(CopyState::kReady);
  one.has(RecordStage::kReady);
  one.has_disk(DiskStage::kReady);
  one.host.retained = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRetained, CopyTrouble::kNone});
  one.host.partly_retained = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kRetain, CopyState::kReady, CopyTrouble::kNone});
}

TEST_CASE("what no order names, what is not understood and another node's is left as it is") {
  PlanCase any;
  for_each_host(any, [](const PlanCase& one) {
    if (plan_copy({nullptr, true, false}, kSelf, one.host) != CopyPlan()) FAIL(one.text());
    for (const AgentIdentity& other :
         {AgentIdentity{"node-b", "node", "cluster"}, AgentIdentity{kNode, "node", "clone"}})
      if (plan_copy({&one.copy, true, false}, other, one.host) !=
          CopyPlan{CopyAction::kNone, CopyState::kUnsaid, CopyTrouble::kNotHere})
        FAIL(one.text());
  });
  any.says(CopyState::kUnknown);
  CHECK(any.plan() ==
        CopyPlan{CopyAction::kNone, CopyState::kUnknown, CopyTrouble::kNotUnderstood});
  any.says(CopyState::kReady);
  any.copy.order = Error(ErrorCode::kInvalid, "of a later version");
  CHECK(any.plan() == CopyPlan{CopyAction::kNone, CopyState::kReady, CopyTrouble::kNotUnderstood});
}

TEST_CASE("of a later leader's order the generation does not count: it may have been put back") {
  PlanCase one;
  one.has(RecordStage::kReady);
  one.has_disk(DiskStage::kReady);
  one.says(CopyState::kReady);
  one.fresh = true;
  one.copy.order->desired = DesiredState::kRemoved;
  one.follows(Followed::kLaterOrder);
  CHECK(one.plan().trouble == CopyTrouble::kRolledBack);
  one.host.order_term = one.order().term - 1;
  CHECK(one.plan().action == CopyAction::kRemove);
  one.in_doubt = true;
  CHECK(one.plan().trouble == CopyTrouble::kInDoubt);
}

}  // namespace
}  // namespace flexlocal::provisioner::test
