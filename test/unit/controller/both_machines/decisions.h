// What the daemons' own code decides in a small world: its bits are made the objects that the plans
// are asked with.
#pragma once

#include "provisioner/agent/copy_plan.h"
#include "provisioner/controller/claims/order_plan.h"
#include "provisioner/controller/claims/replacement_plan.h"
#include "provisioner/controller/reclaim/end_plan.h"
#include "test/unit/controller/both_machines/world.h"

namespace flexlocal::provisioner::test {

// plan_copy()'s decision, and the status that answer_to() makes of it.
struct AgentDecision {
  CopyAction action;
  CopyState state;
  CopyTrouble trouble;
  CopyBits answered;  // the copy with that status
};

AgentDecision decide_copy(const CopyBits& copy, unsigned slot, bool fresh, const HostBits& host);
// The same copy with the answer of a promise that the node cannot make.
CopyBits refused(const CopyBits& copy, unsigned slot, const HostBits& host);
// And of one that it could not keep, before it is given up.
CopyBits troubled(const CopyBits& copy, unsigned slot, const HostBits& host);

// For how long the order that is to serve has not been answered.
enum class Silence : unsigned { kAnswered, kShort, kLong };

struct OrderDecision {
  OrderAction action;
  unsigned slot;
  bool says_why;
};

// plan_order()'s, by what the controller knows.
OrderDecision decide_order(const World& world, Silence silence);

// plan_replacement()'s.
struct ReplacementDecision {
  ReplacementAction action;
  unsigned slot;
};
ReplacementDecision decide_replacement(const World& world, Silence silence);

// plan_end()'s.
struct EndDecision {
  EndAction action;
  DesiredState desired;
};
EndDecision decide_end(const VolumeBits& volume, const CopyBits& copy);

// Whether the request, as it is written, holds for the version alone that it was decided on.
bool names_version(WriteKind kind);

// The objects themselves.
VolumeCopy copy_object(const CopyBits& bits, unsigned slot);

// Whether it was withdrawn, and no pod had it.
bool is_gone(const CopyBits& copy, unsigned slot);

}  // namespace flexlocal::provisioner::test
