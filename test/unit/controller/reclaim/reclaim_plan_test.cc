#include "provisioner/controller/reclaim/reclaim_plan.h"

#include <doctest/doctest.h>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

template <typename Check>
void for_every_volume(Check check) {
  for (const char* phase : {"", "Pending", "Available", "Bound", "Released", "Failed", "released"})
    for (const char* policy : {"", "Delete", "Retain", "Recycle", "delete"})
      for (const char* node : {"", "node-a", "node-b"})
        for (const char* provisioned_by : {"", "flexlocal.io", "other.io"})
          for (const char* driver : {"", "flexlocal.io/flexlocal", "other.io/other"})
            for (int bits = 0; bits < 16; ++bits) {
              Volume volume;
              volume.phase = phase;
              volume.reclaim_policy = policy;
              volume.node = node;
              volume.provisioned_by = provisioned_by;
              volume.driver = driver;
              volume.deleting = (bits & 1) != 0;
              volume.migrated = (bits & 2) != 0;
              if ((bits & 4) != 0) volume.finalizers.emplace_back("kubernetes.io/pv-protection");
              if ((bits & 8) != 0) volume.finalizers.emplace_back(kFinalizer);
              check(volume, plan_reclaim(volume, kNode));
            }
}

bool is_ours_here(const Volume& volume) {
  return volume.node == kNode && volume.provisioned_by == "flexlocal.io" &&
         volume.driver == "flexlocal.io/flexlocal" && !volume.migrated;
}

bool has_our_finalizer(const Volume& volume) {
  return !volume.finalizers.empty() && volume.finalizers.back() == kFinalizer;
}

}  // namespace

TEST_CASE("data is only removed when released, the policy says Delete, and it is ours, here") {
  int removals = 0;
  for_every_volume([&](const Volume& volume, ReclaimPlan plan) {
    if (plan != ReclaimPlan::kRemove) return;
    ++removals;
    CHECK((volume.phase == "Released" || volume.phase == "Failed"));
    CHECK(volume.reclaim_policy == "Delete");
    CHECK(is_ours_here(volume));
  });
  // Two phases; pv-protection's finalizer or not; deleting with ours, or not deleting.
  CHECK(removals == 2 * 2 * (1 + 2));
}

TEST_CASE("a volume that was let go is not removed again while its object lingers") {
  for_every_volume([](const Volume& volume, ReclaimPlan plan) {
    if (volume.deleting && !has_our_finalizer(volume)) CHECK(plan == ReclaimPlan::kLeaveAlone);
  });
}

TEST_CASE("what is not ours, or not here, is never touched") {
  for_every_volume([](const Volume& volume, ReclaimPlan plan) {
    if (!is_ours_here(volume)) CHECK(plan == ReclaimPlan::kLeaveAlone);
  });
}

TEST_CASE("the finalizer is only dropped from a volume that is being deleted and holds it") {
  int dropped = 0;
  for_every_volume([&](const Volume& volume, ReclaimPlan plan) {
    if (plan != ReclaimPlan::kRelease && plan != ReclaimPlan::kRetain) return;
    ++dropped;
    CHECK((plan == ReclaimPlan::kRelease) == (volume.reclaim_policy == "Delete"));
    CHECK(volume.deleting);
    CHECK(has_our_finalizer(volume));
    CHECK(volume.phase != "Bound");
  });
  CHECK(dropped > 0);
}

TEST_CASE("a bound volume is kept whatever else is said of it") {
  for_every_volume([](const Volume& volume, ReclaimPlan plan) {
    if (volume.phase != "Bound") return;
    CHECK(plan != ReclaimPlan::kRemove);
    CHECK(plan != ReclaimPlan::kRelease);
    CHECK(plan != ReclaimPlan::kRetain);
    if (is_ours_here(volume) && volume.deleting && has_our_finalizer(volume))
      CHECK(plan == ReclaimPlan::kKeepDeleting);
  });
}

TEST_CASE("the policy Retain keeps the data, and the object goes when a person deletes it") {
  for_every_volume([](const Volume& volume, ReclaimPlan plan) {
    if (volume.reclaim_policy != "Retain" || volume.phase != "Released") return;
    const bool goes = is_ours_here(volume) && volume.deleting && has_our_finalizer(volume);
    CHECK(plan == (goes ? ReclaimPlan::kRetain : ReclaimPlan::kLeaveAlone));
  });
}

}  // namespace flexlocal::provisioner::test
