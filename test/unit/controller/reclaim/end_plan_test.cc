#include "provisioner/controller/reclaim/end_plan.h"

#include <doctest/doctest.h>

#include <functional>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

VolumeCopy answered_copy(DesiredState desired, CopyState state, bool answered = true) {
  CopyOrder order = sample_order();
  order.desired = desired;
  VolumeCopy copy{.name = copy_name(order),
                  .uid = "object",
                  .resource_version = "7",
                  .generation = 2,
                  .deleting = false,
                  .order = order,
                  .status = {}};
  copy.status.state = state;
  copy.status.observed_generation = answered ? 2 : 1;
  return copy;
}

// None, one that is not understood, and each that a node can have answered of.
void for_each_copy(const std::function<void(const VolumeCopy*)>& visit) {
  visit(nullptr);
  VolumeCopy strange = answered_copy(DesiredState::kServing, CopyState::kReady);
  strange.order = Error(ErrorCode::kInvalid, "spec.colour is not known");
  visit(&strange);
  for (const DesiredState desired : {DesiredState::kServing, DesiredState::kRetained,
                                     DesiredState::kRemoved, DesiredState::kWithdrawn})
    for (int state = 0; state <= static_cast<int>(CopyState::kUnknown); ++state)
      for (const bool answered : {true, false}) {
        const VolumeCopy copy = answered_copy(desired, static_cast<CopyState>(state), answered);
        visit(&copy);
      }
}

Volume sample_volume(const std::string& phase, const std::string& policy, bool deleting) {
  Volume volume = decoded_volume(volume_text(sample_spec(), phase));
  volume.reclaim_policy = policy;
  volume.deleting = deleting;
  return volume;
}

using Check = std::function<void(const Volume&, const VolumeCopy*, const EndPlan&)>;

void for_each_end(const Check& check) {
  for (const char* phase : {"", "Pending", "Available", "Bound", "Released", "Failed"})
    for (const char* policy : {"Delete", "Retain", "Recycle", ""})
      for (unsigned bits = 0; bits < 8; ++bits) {
        Volume volume = sample_volume(phase, policy, (bits & 1U) != 0);
        if ((bits & 2U) != 0) volume.finalizers.clear();
        if ((bits & 4U) != 0) volume.driver = "other.io/other";
        for_each_copy([&](const VolumeCopy* copy) { check(volume, copy, plan_end(volume, copy)); });
      }
}

bool is_released(const Volume& volume) {
  return volume.phase == "Released" || volume.phase == "Failed";
}

// Of a volume that nobody is bound to: its copy is ordered away, and no pod has it.
bool is_going(const Volume& volume, const VolumeCopy* copy) {
  return !is_released(volume) && volume.phase != "Bound" && copy != nullptr && copy->order &&
         (copy->order->desired == DesiredState::kRemoved || is_gone_unused(*copy));
}

bool has_answered(const VolumeCopy* copy, CopyState state) {
  return copy != nullptr && copy->order && copy->status.state == state &&
         copy->status.observed_generation == copy->generation;
}

}  // namespace

TEST_CASE("a copy is removed only for a released volume of ours with the policy Delete") {
  int orders = 0;
  for_each_end([&](const Volume& volume, const VolumeCopy*, const EndPlan& plan) {
    if (plan.action != EndAction::kGiveOrder || plan.desired != DesiredState::kRemoved) return;
    ++orders;
    CHECK(is_released(volume));
    CHECK(volume.reclaim_policy == "Delete");
    CHECK(is_ours(volume));
    // Held by our finalizer: nobody can bind it again.
    CHECK(volume.deleting);
    CHECK(is_held(volume));
  });
  CHECK(orders > 0);
}

TEST_CASE("a PersistentVolume is deleted before its copy is ordered away, and only then") {
  int deletions = 0;
  for_each_end([&](const Volume& volume, const VolumeCopy* copy, const EndPlan& plan) {
    if (plan.action != EndAction::kDelete) return;
    ++deletions;
    CHECK_FALSE(volume.deleting);
    if (is_going(volume, copy)) return;
    CHECK(is_released(volume));
    CHECK(volume.reclaim_policy == "Delete");
  });
  CHECK(deletions > 0);
}

TEST_CASE("a volume is let go only once its node says, to this very order, that all is done") {
  int ends = 0;
  for_each_end([&](const Volume& volume, const VolumeCopy* copy, const EndPlan& plan) {
    if (plan.action != EndAction::kRelease) return;
    ++ends;
    CHECK(volume.deleting);
    CHECK(volume.phase != "Bound");
    if (is_released(volume) && volume.reclaim_policy == "Delete")
      CHECK((has_answered(copy, CopyState::kRemoved) && is_to_go(copy->order->desired)));
    else if (volume.reclaim_policy != "Delete" && !is_going(volume, copy) &&
             !(copy != nullptr && is_withdrawn(*copy) && !is_released(volume)))
      CHECK(((has_answered(copy, CopyState::kRetained) &&
              copy->order->desired == DesiredState::kRetained) ||
             has_answered(copy, CopyState::kRemoved)));
  });
  CHECK(ends > 0);
}

TEST_CASE("what is not understood is not written over, or removed for a word that nobody knows") {
  int waits = 0;
  for_each_end([&](const Volume&, const VolumeCopy* copy, const EndPlan& plan) {
    if (copy == nullptr || is_understood(*copy)) return;
    if (plan.action == EndAction::kGiveOrder)
      CHECK((copy->order && plan.desired != DesiredState::kRemoved));
    if (plan.action == EndAction::kWait) ++waits;
  });
  CHECK(waits > 0);
}

TEST_CASE("a policy that is not Delete never leads to a removal, and keeps the data first") {
  for_each_end([](const Volume& volume, const VolumeCopy* copy, const EndPlan& plan) {
    if (volume.reclaim_policy == "Delete") return;
    CHECK((plan.action != EndAction::kDelete || is_going(volume, copy)));
    if (plan.action == EndAction::kGiveOrder) CHECK(plan.desired != DesiredState::kRemoved);
    if (plan.action == EndAction::kGiveOrder && plan.desired == DesiredState::kRetained)
      CHECK(((volume.deleting && volume.phase != "Bound") || is_released(volume)));
  });
}

TEST_CASE("a removal that has not come to its end is taken back when the volume is to be kept") {
  const Volume kept = sample_volume("Released", "Retain", true);
  for (const CopyState state : {CopyState::kReady, CopyState::kRemoving, CopyState::kLost}) {
    const VolumeCopy copy = answered_copy(DesiredState::kRemoved, state, true);
    const EndPlan plan = plan_end(kept, &copy);
    CHECK(plan.action == EndAction::kGiveOrder);
    CHECK(plan.desired == DesiredState::kRetained);
  }
  const VolumeCopy removed = answered_copy(DesiredState::kRemoved, CopyState::kRemoved, true);
  CHECK(plan_end(kept, &removed).action == EndAction::kRelease);
}

TEST_CASE("a volume that came when its copy was withdrawn goes, unless a pod has had it") {
  const Volume late = sample_volume("Available", "Delete", false);
  const Volume bound = sample_volume("Bound", "Delete", false);
  for (const CopyState state : {CopyState::kPromised, CopyState::kReady, CopyState::kRemoving}) {
    const VolumeCopy asked = answered_copy(DesiredState::kWithdrawn, state);
    CHECK(plan_end(late, &asked).action == EndAction::kWait);
    CHECK(plan_end(bound, &asked).action == EndAction::kWait);
    CHECK(plan_end(sample_volume("Bound", "Delete", true), &asked).action == EndAction::kWait);
  }
  VolumeCopy gone = answered_copy(DesiredState::kWithdrawn, CopyState::kRemoved);
  gone.status.made = true;  // ahead of its pod
  CHECK(plan_end(late, &gone).action == EndAction::kDelete);
  CHECK(is_to_be_replaced(bound, &gone));
  for (const CopyState state : {CopyState::kRetained, CopyState::kLost}) {
    const VolumeCopy kept = answered_copy(DesiredState::kWithdrawn, state);
    for (const Volume& of : {late, bound})
      CHECK(plan_end(of, &kept) == EndPlan{EndAction::kGiveOrder, DesiredState::kServing});
    CHECK_FALSE(is_to_be_replaced(bound, &kept));
    const VolumeCopy earlier = answered_copy(DesiredState::kWithdrawn, state, false);
    CHECK(plan_end(bound, &earlier).action == EndAction::kWait);
  }
}

TEST_CASE("a volume that nobody is bound to goes when its copy was ordered away") {
  const VolumeCopy removed = answered_copy(DesiredState::kRemoved, CopyState::kPromised, true);
  CHECK(plan_end(sample_volume("Available", "Delete", false), &removed).action ==
        EndAction::kDelete);
  CHECK(plan_end(sample_volume("Available", "Delete", true), &removed).action ==
        EndAction::kRelease);
  CHECK(plan_end(sample_volume("Available", "Retain", true), &removed).action ==
        EndAction::kRelease);
}

TEST_CASE("a volume that was made again while its data waits to be removed serves again") {
  Volume again = sample_volume("Available", "Retain", false);
  again.claim_uid.clear();
  VolumeCopy made = answered_copy(DesiredState::kRemoved, CopyState::kRemoving, true);
  made.status.made = true;
  CHECK(plan_end(again, &made).action == EndAction::kGiveOrder);
  CHECK(plan_end(again, &made).desired == DesiredState::kServing);
  // One that was never made, or is gone, has nothing to serve.
  VolumeCopy unmade = made;
  unmade.status.made = false;
  CHECK(plan_end(again, &unmade).action == EndAction::kDelete);
  VolumeCopy gone = made;
  gone.status.state = CopyState::kRemoved;
  CHECK(plan_end(again, &gone).action == EndAction::kDelete);
  // Of a claim that another copy serves, or is to serve, it came too late.
  CHECK(plan_end(sample_volume("Available", "Retain", false), &made).action == EndAction::kDelete);
}

TEST_CASE("the policy of a volume is that of its copy's order") {
  Volume volume = sample_volume("Bound", "Delete", false);
  VolumeCopy copy = answered_copy(DesiredState::kServing, CopyState::kReady, true);
  copy.order->reclaim_policy = "Delete";
  CHECK(plan_end(volume, &copy).action == EndAction::kNone);
  for (const char* policy : {"Retain", "Recycle", ""}) {
    volume.reclaim_policy = policy;
    CHECK(plan_end(volume, &copy).action == EndAction::kGiveOrder);
    CHECK(plan_end(volume, &copy).desired == DesiredState::kServing);
    CHECK(policy_of_order(volume) == "Retain");
  }
}

TEST_CASE("a volume that another claim has is ordered for that") {
  const VolumeCopy copy = answered_copy(DesiredState::kServing, CopyState::kReady, true);
  Volume volume = sample_volume("Bound", "Delete", false);
  volume.claim_uid = kOtherUid;
  CHECK(plan_end(volume, &copy) == EndPlan{EndAction::kGiveOrder, DesiredState::kServing});
  volume.claim_uid.clear();
  CHECK(plan_end(volume, &copy) == EndPlan{});
}

TEST_CASE("the copy of a volume that lives is to serve, whatever was ordered of it") {
  for (const char* phase : {"", "Pending", "Available", "Bound"}) {
    const Volume volume = sample_volume(phase, "Delete", false);
    for_each_copy([&](const VolumeCopy* copy) {
      const EndPlan plan = plan_end(volume, copy);
      const bool asked =
          copy != nullptr && is_withdrawn(*copy) && !is_gone_unused(*copy) && !is_kept(*copy);
      if (is_going(volume, copy)) {
        CHECK(plan.action == EndAction::kDelete);
      } else if (asked || (copy != nullptr && !copy->order)) {
        CHECK(plan.action == EndAction::kWait);
      } else if (copy != nullptr && copy->order->desired == DesiredState::kServing) {
        CHECK(plan.action == EndAction::kNone);
      } else {
        CHECK(plan.action == EndAction::kGiveOrder);
        CHECK(plan.desired == DesiredState::kServing);
      }
    });
  }
}

TEST_CASE("a copy that is not understood is not written over") {
  for_each_end([](const Volume&, const VolumeCopy* copy, const EndPlan& plan) {
    if (copy != nullptr && !copy->order) CHECK(plan.action != EndAction::kGiveOrder);
  });
}

TEST_CASE("an order is not given again that is given") {
  for_each_end([](const Volume& volume, const VolumeCopy* copy, const EndPlan& plan) {
    if (plan.action != EndAction::kGiveOrder || copy == nullptr) return;
    CHECK((copy->order->desired != plan.desired ||
           copy->order->reclaim_policy != policy_of_order(volume)));
  });
}

TEST_CASE("a bound volume that a person deletes keeps its data, and that is said") {
  for_each_end([](const Volume& volume, const VolumeCopy*, const EndPlan& plan) {
    const bool kept =
        volume.phase == "Bound" && volume.deleting && is_held(volume) && is_ours(volume);
    CHECK(plan.keeps_deleting == kept);
    if (kept) CHECK(plan.desired == DesiredState::kServing);
  });
}

TEST_CASE("a volume that is not ours, or was let go, is left alone") {
  for_each_end([](const Volume& volume, const VolumeCopy*, const EndPlan& plan) {
    if (!is_ours(volume) || (volume.deleting && !is_held(volume))) CHECK(plan == EndPlan());
  });
}

TEST_CASE("a released volume that is retained stays, and nobody mounts it") {
  for_each_end([](const Volume& volume, const VolumeCopy*, const EndPlan& plan) {
    const bool retained = is_released(volume) && volume.reclaim_policy != "Delete";
    if (!retained || volume.deleting) return;
    CHECK(plan.action != EndAction::kDelete);
    CHECK(plan.action != EndAction::kRelease);
    if (plan.action == EndAction::kGiveOrder) CHECK(plan.desired == DesiredState::kRetained);
  });
}

}  // namespace flexlocal::provisioner::test
