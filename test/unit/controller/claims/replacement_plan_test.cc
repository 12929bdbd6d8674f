#include "provisioner/controller/claims/replacement_plan.h"

#include <doctest/doctest.h>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

VolumeCopy copy_in(CopyState state, const std::string& id = kCopy, Origin origin = Origin::kNew) {
  CopyOrder order = sample_order();
  order.volume.copy = id;
  order.origin = origin;
  VolumeCopy copy{.name = copy_name(order),
                  .uid = "object",
                  .resource_version = "7",
                  .generation = 2,
                  .deleting = false,
                  .order = order,
                  .status = {}};
  copy.status.state = state;
  copy.status.promised = true;
  copy.status.observed_generation = 2;
  return copy;
}

VolumeCopy given_up_copy() {
  VolumeCopy copy = copy_in(CopyState::kRemoved);
  copy.order->desired = DesiredState::kWithdrawn;
  copy.given_up = true;
  return copy;
}

ReplacementAction action_for(std::vector<KnownCopy> copies) {
  const Claim claim = bound_claim("1Gi");
  const Volume volume = decoded_volume(volume_text(sample_spec(), "Bound"));
  return plan_replacement({.claim = claim, .volume = &volume, .copies = std::move(copies)}).action;
}

// In the place of the one that was given up.
ReplacementAction action_for_successor(CopyState state, Origin origin = Origin::kNew) {
  const VolumeCopy before = given_up_copy();
  const VolumeCopy copy = copy_in(state, "fedcba9876543210", origin);
  return action_for({borrowed(before), borrowed(copy)});
}

TEST_CASE("a promise is given up by the node's answer to the order as it is") {
  VolumeCopy copy = copy_in(CopyState::kRefused);
  CHECK(action_for({borrowed(copy)}) == ReplacementAction::kGiveUp);
  copy.status.observed_generation = 1;
  CHECK(action_for({borrowed(copy)}) == ReplacementAction::kNone);
}

TEST_CASE("a PersistentVolume that came late is replaced where no pod had its copy, made or not") {
  VolumeCopy late = copy_in(CopyState::kRemoved);
  late.order->desired = DesiredState::kWithdrawn;
  for (const bool made : {false, true}) {
    late.status.made = made;
    CHECK(action_for({borrowed(late)}) == ReplacementAction::kGiveUp);
    VolumeCopy marked = late;
    marked.given_up = true;
    CHECK(action_for({borrowed(marked)}) == ReplacementAction::kGiveOrder);
  }
  for (const CopyState state : {CopyState::kReady, CopyState::kRemoving, CopyState::kRetained}) {
    VolumeCopy open = late;
    open.status.state = state;
    open.given_up = true;  // by anybody's hand
    CHECK(action_for({borrowed(open)}) == ReplacementAction::kNone);
  }
}

TEST_CASE("nothing has the place of another while a pod may have had a third") {
  VolumeCopy kept = copy_in(CopyState::kRetained, "fedcba9876543210");
  kept.order->desired = DesiredState::kWithdrawn;
  kept.status.made = true;
  const VolumeCopy before = given_up_copy();
  const VolumeCopy next = copy_in(CopyState::kPromised, "0f0f0f0f0f0f0f0f");
  CHECK(action_for({borrowed(before), borrowed(kept)}) == ReplacementAction::kReport);
  CHECK(action_for({borrowed(before), borrowed(kept), borrowed(next)}) ==
        ReplacementAction::kReport);
}

TEST_CASE("only what its node has promised gets the place of a copy that was given up") {
  for (int state = 0; state <= static_cast<int>(CopyState::kUnknown); ++state) {
    CAPTURE(state);
    const auto now = static_cast<CopyState>(state);
    const bool serves = now == CopyState::kPromised || now == CopyState::kReady;
    CHECK((action_for_successor(now) == ReplacementAction::kReplace) == serves);
  }
}

TEST_CASE("what was found on a node gets no other copy's place, whatever is said of it") {
  for (int state = 0; state <= static_cast<int>(CopyState::kUnknown); ++state) {
    CAPTURE(state);
    CHECK(action_for_successor(static_cast<CopyState>(state), Origin::kExisting) ==
          ReplacementAction::kReport);
  }
}

}  // namespace
}  // namespace flexlocal::provisioner::test
