#include "flexvolume/engine/lvm/lv_plan.h"

namespace flexlocal::engine {
namespace {

// The device node of an LV that is known to exist.
std::optional<Step> step_to_node(const Situation& now) {
  switch (now.node) {
    case NodeState::kUnknown:
      return Step::kCheckNode;
    case NodeState::kAbsent:
      return now.activated ? Step::kRefuseNode : Step::kActivate;
    case NodeState::kDiffers:
      return Step::kRefuseNode;
    case NodeState::kMatches:
      // Whoever made it active, LVM at boot say, may have had older metadata, by which its extents
      // are another volume's.
      return now.current ? std::nullopt : std::optional(Step::kCheckMetadata);
  }
  return Step::kRefuseNode;
}

// A record that knows the device's uuid: the node proves the volume without a single LVM command.
Step step_with_device(const Situation& now) {
  const bool ready = now.record == RecordState::kReady;
  if (now.node == NodeState::kUnknown) return Step::kCheckNode;
  if (now.node == NodeState::kAbsent) {
    if (now.lv == LvState::kUnknown) return Step::kLookUp;
    // A volume that was never ready held no data: it is made anew.
    if (now.lv == LvState::kAbsent) return ready ? Step::kRefuseGone : Step::kCreate;
  }
  if (const auto step = step_to_node(now)) return *step;
  if (ready) return Step::kMount;
  // The record may be older than the tags: they are read before anything else is done.
  if (now.lv == LvState::kUnknown) return Step::kLookUp;
  if (now.lv == LvState::kAbsent) return Step::kRefuseNode;
  if (!now.content) return Step::kProbe;
  if (*now.content == Content::kComplete) return Step::kMarkReady;
  const bool refused = *now.content == Content::kForeign || now.tagged_ready;
  return refused ? Step::kRefuseContent : Step::kFormat;
}

// An LV that LVM knows and no record confirms: a killed call's, or of a host that lost its records.
Step step_unconfirmed(const Situation& now) {
  const bool own = now.record == RecordState::kIntent && now.same_attempt;
  // Only what has no device after all: what can be looked at is looked at.
  const bool without_device = now.activated && now.node == NodeState::kAbsent;
  if (own && now.half_made && without_device && !now.tagged_ready) return Step::kRemoveOwn;
  if (const auto step = step_to_node(now)) return *step;
  if (!now.content) return Step::kProbe;
  if (*now.content == Content::kComplete) return Step::kMarkReady;
  if (now.tagged_ready) return Step::kRefuseContent;
  if (*now.content == Content::kForeign) return own ? Step::kRemoveOwn : Step::kRefuseContent;
  // Without a record nobody knows whether there was data.
  return now.record ? Step::kConfirm : Step::kRefuseUnknown;
}

}  // namespace

Step next_step(const Situation& now) {
  if (now.lv == LvState::kForeign) return Step::kRefuseForeign;
  if (now.record == RecordState::kWiping || now.tagged_wiping) return Step::kRefuseWiping;
  if (now.record == RecordState::kReady || now.record == RecordState::kNew)
    return step_with_device(now);
  switch (now.lv) {
    case LvState::kUnknown:
      // With a promise lvcreate itself finds out whether the name is free: one program less.
      // An `intent` is looked up first, since a new attempt would forget whose leftover it is.
      return now.record == RecordState::kPromised ? Step::kCreate : Step::kLookUp;
    case LvState::kAbsent:
      return now.record ? Step::kCreate : Step::kRefuseUnknown;
    case LvState::kCreated:
      return Step::kConfirm;
    case LvState::kOurs:
      return step_unconfirmed(now);
    case LvState::kForeign:
      break;
  }
  return Step::kRefuseForeign;
}

}  // namespace flexlocal::engine
