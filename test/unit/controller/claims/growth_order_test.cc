#include "provisioner/controller/claims/growth_order.h"

#include <doctest/doctest.h>

#include <functional>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr Bytes kTwo = kGiB + kGiB;
constexpr Bytes kThree = kTwo + kGiB;

Growth sample_growth(Bytes asked = kTwo) { return {.spec = sample_spec(), .asked = asked}; }

// On disks that round nothing up.
GrowthOrder plan(const Growth& growth, const VolumeCopy* copy) {
  return plan_growth_order(growth, growth.asked, copy);
}

// A ready copy that was ordered with one size, and has another.
VolumeCopy sized_copy(Bytes ordered, Bytes has) {
  CopyOrder order = sample_order();
  order.volume.size = ordered;
  VolumeCopy copy{.name = copy_name(order),
                  .uid = "object",
                  .resource_version = "7",
                  .generation = 2,
                  .deleting = false,
                  .order = order,
                  .status = {}};
  copy.status.state = CopyState::kReady;
  copy.status.size = has;
  copy.status.observed_generation = 2;
  return copy;
}

CopyCondition condition(std::string_view type, bool holds, std::string_view reason = "Any") {
  return {std::string(type), holds, std::string(reason), "the pool is full", {}};
}

void for_each_copy(const std::function<void(const VolumeCopy&)>& visit) {
  for (const Bytes ordered : {kGiB, kTwo, kThree})
    for (const Bytes has : {Bytes(), kGiB, kTwo, kThree})
      for (int state = 0; state <= static_cast<int>(CopyState::kUnknown); ++state)
        for (const DesiredState desired :
             {DesiredState::kServing, DesiredState::kRetained, DesiredState::kRemoved})
          for (unsigned bits = 0; bits < 8; ++bits) {
            VolumeCopy copy = sized_copy(ordered, has);
            copy.status.state = static_cast<CopyState>(state);
            copy.order->desired = desired;
            if ((bits & 1U) != 0) copy.status.observed_generation = 1;
            if ((bits & 2U) != 0)
              copy.status.conditions = {condition(kAsOrdered, false, kNotGrown)};
            if ((bits & 4U) != 0)
              copy.status.conditions.push_back(condition(kFileSystemResizePending, true));
            visit(copy);
          }
}

}  // namespace

TEST_CASE("a growth is done, or refused, only by the answer of a ready copy to this very order") {
  int ended = 0;
  for_each_copy([&](const VolumeCopy& copy) {
    const GrowthOrder order = plan(sample_growth(), &copy);
    if (order.step != GrowthStep::kGrown && order.step != GrowthStep::kRefused) return;
    ++ended;
    CHECK(copy.status.state == CopyState::kReady);
    CHECK(copy.order->desired == DesiredState::kServing);
    CHECK(copy.status.observed_generation == copy.generation);
    CHECK(order.size == copy.status.size);
    CHECK((order.step == GrowthStep::kGrown) == (copy.status.size >= kTwo));
  });
  CHECK(ended > 0);
}

TEST_CASE("no copy is ordered smaller than it is, or than is asked for, and none twice the same") {
  for_each_copy([](const VolumeCopy& copy) {
    const GrowthOrder order = plan(sample_growth(), &copy);
    if (order.step != GrowthStep::kRaise) return;
    CHECK(copy.order->desired == DesiredState::kServing);
    CHECK(order.size >= copy.status.size);
    CHECK(order.size >= kTwo);
    CHECK(order.size != copy.order->volume.size);
  });
}

TEST_CASE("a copy that is not there, not understood or not to serve is not grown") {
  VolumeCopy copy = sized_copy(kGiB, kGiB);
  CHECK(plan(sample_growth(), nullptr) == GrowthOrder());
  copy.order->desired = DesiredState::kRetained;
  CHECK(plan(sample_growth(), &copy) == GrowthOrder());
  copy.order = Error(ErrorCode::kInvalid, "spec.colour is not known");
  CHECK(plan(sample_growth(), &copy) == GrowthOrder());
}

TEST_CASE("a growth is ordered, waited for, and done with what the volume then has") {
  VolumeCopy copy = sized_copy(kGiB, kGiB);
  const GrowthOrder raise = plan(sample_growth(), &copy);
  CHECK(raise.step == GrowthStep::kRaise);
  CHECK(raise.size == kTwo);
  copy.order->volume.size = kTwo;
  ++copy.generation;
  CHECK(plan(sample_growth(), &copy).step == GrowthStep::kWait);
  copy.status.observed_generation = copy.generation;
  CHECK(plan(sample_growth(), &copy).step == GrowthStep::kWait);
  copy.status.size = kTwo;
  CHECK(plan(sample_growth(), &copy) ==
        GrowthOrder{.step = GrowthStep::kGrown, .size = kTwo, .as_requested = true, .why = {}});
}

TEST_CASE("a file system that grows at the next mount is waited for only while that is so") {
  VolumeCopy copy = sized_copy(kTwo, kTwo);
  copy.status.conditions = {condition(kFileSystemResizePending, true)};
  CHECK(plan(sample_growth(), &copy).awaits_mount);
  copy.status.conditions = {condition(kFileSystemResizePending, false)};
  CHECK_FALSE(plan(sample_growth(), &copy).awaits_mount);
}

TEST_CASE("a growth is refused in the node's words, by the condition that says so and no other") {
  VolumeCopy copy = sized_copy(kTwo, kGiB);
  copy.status.conditions = {condition(kAsOrdered, false, kNotGrown)};
  const GrowthOrder refused = plan(sample_growth(), &copy);
  CHECK(refused.step == GrowthStep::kRefused);
  CHECK(refused.size == kGiB);
  CHECK(refused.why == "the pool is full");
  for (const CopyCondition& other :
       {condition(kAsOrdered, true, kNotGrown), condition(kAsOrdered, false, "Unseen"),
        condition("Other", false, kNotGrown)}) {
    copy.status.conditions = {other};
    CHECK(plan(sample_growth(), &copy).step == GrowthStep::kWait);
  }
}

TEST_CASE("what an earlier try extended is kept, and is not called what was asked for") {
  VolumeCopy copy = sized_copy(kThree, kThree);
  const GrowthOrder grown = plan(sample_growth(), &copy);
  CHECK(grown.step == GrowthStep::kGrown);
  CHECK(grown.size == kThree);
  CHECK_FALSE(grown.as_requested);
}

TEST_CASE("a request that was lowered after a refusal is ordered in its place") {
  VolumeCopy copy = sized_copy(kThree, kGiB);
  copy.status.conditions = {condition(kAsOrdered, false, kNotGrown)};
  const GrowthOrder order = plan(sample_growth(kTwo), &copy);
  CHECK(order.step == GrowthStep::kRaise);
  CHECK(order.size == kTwo);
}

TEST_CASE(
    "what the disks round up to is ordered, is what was requested, and is not asked for twice") {
  const Bytes rounded = kTwo + kMiB;
  VolumeCopy copy = sized_copy(kGiB, kGiB);
  const GrowthOrder raise = plan_growth_order(sample_growth(), rounded, &copy);
  CHECK(raise.step == GrowthStep::kRaise);
  CHECK(raise.size == rounded);
  copy = sized_copy(rounded, rounded);
  const GrowthOrder grown = plan_growth_order(sample_growth(), rounded, &copy);
  CHECK(grown.step == GrowthStep::kGrown);
  CHECK(grown.as_requested);
  // Its pool has another layout since: what was asked for is there.
  copy = sized_copy(kTwo, kTwo);
  CHECK(plan_growth_order(sample_growth(), rounded, &copy).step == GrowthStep::kGrown);
}

}  // namespace flexlocal::provisioner::test
