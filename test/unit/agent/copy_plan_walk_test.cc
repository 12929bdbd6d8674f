// What an agent decides step by step, as each step makes another host.
#include <doctest/doctest.h>

#include "test/unit/agent/copy_plan_case.h"

namespace flexlocal::provisioner::test {
namespace {

// What an agent makes of a host by carrying out an action; the API server takes each answer.
void carry_out(const CopyPlan& plan, PlanCase& one) {
  if (plan.action == CopyAction::kReadAnew) {
    one.fresh = true;
    return;
  }
  one.copy.status.state = plan.state;
  one.copy.status.promised = one.copy.status.promised || is_of_promised(plan.state);
  one.copy.status.made = one.copy.status.made || plan.state == CopyState::kReady;
  switch (plan.action) {
    case CopyAction::kPromise:
      one.has(RecordStage::kPromised);
      break;
    case CopyAction::kAdopt:
      one.has(RecordStage::kReady);
      one.host.retained = one.wants(DesiredState::kRetained);
      one.host.claim_uid.clear();  // tags do not say it, nor whose order it was
      one.host.order_uid.clear();
      break;
    case CopyAction::kClose:
      one.host.claim_uid.clear();
      break;
    case CopyAction::kRecord:
      one.has(one.host.record);
      break;
    case CopyAction::kMake:
      one.has(RecordStage::kReady);
      one.has_disk(DiskStage::kReady);
      one.host.size = one.order().volume.size;
      break;
    case CopyAction::kGrow:
      one.host.size = one.order().volume.size;
      break;
    case CopyAction::kRetain:
    case CopyAction::kRelease:
      one.host.retained = plan.action == CopyAction::kRetain;
      break;
    case CopyAction::kRemove:
      one.has(RecordStage::kNone);
      one.has_disk(DiskStage::kNone);
      break;
    case CopyAction::kWithdraw:
      one.has(RecordStage::kNone);
      break;
    case CopyAction::kGiveUp:
      one.has(RecordStage::kRefused);
      break;
    case CopyAction::kNone:
    case CopyAction::kReadAnew:
      break;
  }
}

TEST_CASE("carried out step by step, no order goes round in a circle") {
  constexpr int kMostSteps = 10;
  std::string endless;
  for_each_order([&](PlanCase& order) {
    if (order.fresh) return;  // it is read anew on the way
    for_each_host(order, [&](const PlanCase& begin) {
      if (!endless.empty()) return;
      PlanCase one = begin;
      for (int steps = 0; steps < kMostSteps; ++steps) {
        const CopyPlan plan = one.plan();
        const CopyStatus before = one.copy.status;
        carry_out(plan, one);
        if (plan.action == CopyAction::kNone && one.copy.status == before) return;
      }
      endless = begin.text();
    });
  });
  CHECK(endless == "");
}

TEST_CASE("the way of a claim's volume") {
  PlanCase one;
  one.fresh = false;
  CHECK(one.plan() == CopyPlan{CopyAction::kReadAnew, CopyState::kUnsaid});
  one.fresh = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kPromise, CopyState::kUnsaid});
  one.has(RecordStage::kPromised);
  one.fresh = false;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kPromised});
  one.says(CopyState::kPromised);
  CHECK(one.plan() == CopyPlan{CopyAction::kMake, CopyState::kPromised});
  one.has(RecordStage::kReady);
  one.has_disk(DiskStage::kReady);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kReady});
  one.order().volume.size = Bytes(2 * kGiB.count());
  CHECK(one.plan() == CopyPlan{CopyAction::kGrow, CopyState::kReady});
  one.order().volume.size = Bytes(kGiB.count() / 2);  // an order never shrinks what is there
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kReady});
}

TEST_CASE("the end of a volume, kept first and then removed") {
  PlanCase one;
  one.says(CopyState::kReady);
  one.has(RecordStage::kReady);
  one.has_disk(DiskStage::kReady);
  one.fresh = false;
  one.order().desired = DesiredState::kRetained;
  CHECK(one.plan() == CopyPlan{CopyAction::kRetain, CopyState::kReady});
  one.host.retained = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRetained});
  one.order().desired = DesiredState::kRemoved;
  CHECK(one.plan() == CopyPlan{CopyAction::kReadAnew, CopyState::kReady});
  one.fresh = true;
  one.host.open = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kClose, CopyState::kReady});
  one.host.claim_uid.clear();
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kReady, CopyTrouble::kBusy});
  one.host.open = false;
  CHECK(one.plan() == CopyPlan{CopyAction::kRemove, CopyState::kRemoving});
  one.has(RecordStage::kWiping);
  CHECK(one.plan() == CopyPlan{CopyAction::kRemove, CopyState::kRemoving});
  one.has(RecordStage::kNone);
  one.has_disk(DiskStage::kNone);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRemoved});
}

TEST_CASE(
    "a retained volume is served to the claim of another namespace, once nobody has it open") {
  PlanCase one;
  one.says(CopyState::kRetained);
  one.has(RecordStage::kReady);
  one.has_disk(DiskStage::kReady);
  one.host.retained = true;
  one.host.claim_namespace = "bank";
  one.host.open = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRetained, CopyTrouble::kBusy});
  one.host.open = false;
  CHECK(one.plan() == CopyPlan{CopyAction::kRecord, CopyState::kRetained});
  one.has(RecordStage::kReady);
  CHECK(one.plan() == CopyPlan{CopyAction::kRelease, CopyState::kRetained});
  one.host.retained = false;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kReady});
}

TEST_CASE("a host that lost one of its disks") {
  PlanCase one;
  one.says(CopyState::kReady);
  // The root disk alone: the tags speak for the volume, and its data is there.
  one.has_disk(DiskStage::kReady);
  CHECK(one.plan() == CopyPlan{CopyAction::kAdopt, CopyState::kReady});
  // The data disk alone.
  one.has(RecordStage::kReady);
  one.has_disk(DiskStage::kNone);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kLost, CopyTrouble::kGone});
  // The data disk, and a root disk of the time of the promise.
  for (const RecordStage record : {RecordStage::kPromised, RecordStage::kMaking}) {
    one.has(record);
    CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kLost, CopyTrouble::kGone});
  }
  // The same with a stranger in its place, and of one that was kept.
  one.has_disk(DiskStage::kForeign);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kLost, CopyTrouble::kForeign});
  one.has_disk(DiskStage::kNone);
  one.says(CopyState::kRetained);
  one.copy.status.made = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kLost, CopyTrouble::kGone});
  // Both, after etcd was put back to before the promise was said and the loss was told.
  one.says(CopyState::kLost);
  one.has(RecordStage::kNone);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kLost, CopyTrouble::kGone});
}

TEST_CASE("a promise that cannot be kept is given up, and withdrawn when that is ordered") {
  PlanCase one;
  one.says(CopyState::kPromised);
  one.has(RecordStage::kPromised);
  one.host.hopeless = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kGiveUp, CopyState::kPromised});
  one.has(RecordStage::kRefused);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRefused, CopyTrouble::kRefused});
  one.order().desired = DesiredState::kRemoved;
  one.has_disk(DiskStage::kForeign);  // what took its name is none of ours, and stays
  CHECK(one.plan() == CopyPlan{CopyAction::kWithdraw, CopyState::kRemoving});
  one.has(RecordStage::kNone);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRemoved});
}

TEST_CASE("nothing is promised on a Node that was made anew, nor for an object that goes") {
  PlanCase one;
  one.order().node_uid = "earlier";
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kUnsaid, CopyTrouble::kNotHere});
  one.order().node_uid = kSelf.node_uid;
  one.copy.deleting = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kUnsaid, CopyTrouble::kDeleting});
}

TEST_CASE("what was refused is not promised later, and what is in doubt not now") {
  PlanCase one;
  one.in_doubt = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kUnsaid, CopyTrouble::kInDoubt});
  one.in_doubt = false;
  one.says(CopyState::kRefused);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRefused, CopyTrouble::kRefused});
  one.order().desired = DesiredState::kRemoved;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRemoved});
}

}  // namespace
}  // namespace flexlocal::provisioner::test
