#include "flexvolume/engine/lvm/lv_plan.h"

#include <doctest/doctest.h>

#include <array>

namespace flexlocal::engine {
namespace {

constexpr std::array<std::optional<RecordState>, 6> kRecords = {
    std::nullopt,      RecordState::kPromised, RecordState::kIntent,
    RecordState::kNew, RecordState::kReady,    RecordState::kWiping};
constexpr std::array kLvs = {LvState::kUnknown, LvState::kAbsent, LvState::kCreated, LvState::kOurs,
                             LvState::kForeign};
constexpr std::array kNodes = {NodeState::kUnknown, NodeState::kAbsent, NodeState::kMatches,
                               NodeState::kDiffers};
constexpr std::array<std::optional<Content>, 5> kContents = {
    std::nullopt, Content::kBlank, Content::kIncomplete, Content::kComplete, Content::kForeign};

template <typename Check>
void for_every_situation(Check check) {
  for (const auto& record : kRecords)
    for (const LvState lv : kLvs)
      for (const NodeState node : kNodes)
        for (const auto& content : kContents)
          for (int bits = 0; bits < 32; ++bits)
            check(Situation{.record = record,
                            .lv = lv,
                            .node = node,
                            .content = content,
                            .tagged_ready = (bits & 1) != 0,
                            .same_attempt = (bits & 2) != 0,
                            .activated = (bits & 4) != 0,
                            .half_made = (bits & 8) != 0,
                            .current = (bits & 16) != 0});
}

// Invariant 1 of the design, over every situation there is.
TEST_CASE("formats only what is ours, not ready, and carries no complete file system") {
  int formats = 0;
  for_every_situation([&](const Situation& now) {
    if (next_step(now) != Step::kFormat) return;
    ++formats;
    CHECK(now.record == RecordState::kNew);
    CHECK_FALSE(now.tagged_ready);
    // Its tags were read, or this call has just made it.
    CHECK((now.lv == LvState::kOurs || now.lv == LvState::kCreated));
    CHECK(now.node == NodeState::kMatches);
    CHECK(now.current);
    REQUIRE(now.content.has_value());
    CHECK((*now.content == Content::kBlank || *now.content == Content::kIncomplete));
  });
  CHECK(formats > 0);
}

TEST_CASE("removes only what its own announced attempt made and nobody confirmed") {
  for_every_situation([](const Situation& now) {
    if (next_step(now) != Step::kRemoveOwn) return;
    CHECK(now.record == RecordState::kIntent);
    CHECK(now.same_attempt);
    CHECK(now.lv == LvState::kOurs);
    CHECK_FALSE(now.tagged_ready);
    // What was looked at is a stranger's; what was not has no device.
    const bool without_device = now.node == NodeState::kAbsent && now.activated && now.half_made;
    CHECK((without_device || now.content == Content::kForeign));
  });
}

TEST_CASE("mounts only a ready volume through the device that its record names") {
  for_every_situation([](const Situation& now) {
    if (next_step(now) != Step::kMount) return;
    CHECK(now.record == RecordState::kReady);
    CHECK(now.node == NodeState::kMatches);
    CHECK(now.current);
    CHECK(now.lv != LvState::kForeign);
  });
}

TEST_CASE("makes only what is promised, or was begun and never held data") {
  for_every_situation([](const Situation& now) {
    if (next_step(now) != Step::kCreate) return;
    REQUIRE(now.record.has_value());
    CHECK(*now.record < RecordState::kReady);
  });
}

// LVM's metadata are then of another day than the device.
TEST_CASE("what has a device and no logical volume is refused") {
  for_every_situation([](const Situation& now) {
    const bool confirmed = now.record == RecordState::kNew || now.record == RecordState::kReady;
    const bool there = now.node == NodeState::kMatches || now.node == NodeState::kDiffers;
    if (!confirmed || !there || now.lv != LvState::kAbsent || now.tagged_wiping) return;
    if (now.node == NodeState::kMatches && !now.current) {
      CHECK(next_step(now) == Step::kCheckMetadata);
      return;
    }
    const bool mounts = now.record == RecordState::kReady && now.node == NodeState::kMatches;
    CHECK(next_step(now) == (mounts ? Step::kMount : Step::kRefuseNode));
  });
}

TEST_CASE("a ready volume is never created, formatted or removed") {
  for_every_situation([](const Situation& now) {
    if (now.record != RecordState::kReady) return;
    const Step step = next_step(now);
    CHECK(step != Step::kCreate);
    CHECK(step != Step::kFormat);
    CHECK(step != Step::kRemoveOwn);
    CHECK(step != Step::kConfirm);
  });
}

TEST_CASE("never marks ready what is not complete") {
  for_every_situation([](const Situation& now) {
    if (next_step(now) == Step::kMarkReady) CHECK(now.content == Content::kComplete);
  });
}

TEST_CASE("activates once, and only when the device node is missing") {
  for_every_situation([](const Situation& now) {
    if (next_step(now) != Step::kActivate) return;
    CHECK(now.node == NodeState::kAbsent);
    CHECK_FALSE(now.activated);
  });
}

}  // namespace
}  // namespace flexlocal::engine
