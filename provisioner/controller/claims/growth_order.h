// How far a growth has come that is carried out by an order: a pure decision.
#pragma once

#include <string>

#include "provisioner/controller/claims/growth_plan.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

enum class GrowthStep {
  kWait,     // for the node's answer
  kRaise,    // order that the copy have `size`
  kRefused,  // the node cannot: `why`; the volume keeps `size`
  kGrown     // the volume has `size`
};

struct GrowthOrder {
  GrowthStep step = GrowthStep::kWait;
  Bytes size{};
  bool as_requested = false;  // kGrown: that is what was asked for; see allocated_for()
  bool awaits_mount = false;  // kGrown: its file system grows at the next mount
  std::string why{};

  bool operator==(const GrowthOrder&) const = default;
};

// `rounded`: what is asked for, rounded up as the node's disks do: that much is ordered, and what
// was asked for is enough. `copy`: the one that the PersistentVolume names; nullptr: there is no
// such object, or it is not understood.
GrowthOrder plan_growth_order(const Growth& growth, Bytes rounded, const VolumeCopy* copy);

}  // namespace flexlocal::provisioner
