// What becomes of the PersistentVolume of a node that was deleted: a pure decision.
#pragma once

#include <string>

#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// Nobody is left who could wipe or remove the data; if the node's disks come back, so may it.
enum class NodeDeletePolicy {
  kReport,  // say what there is to do, and touch nothing
  kOrphan,  // let go of what somebody already deletes
  kDelete   // and delete what no claim has any more and the class does not want to keep
};

enum class LostVolumePlan {
  kNothing,
  kReport,
  kRelease,  // take our finalizer away
  kDelete    // delete the object, then let it go
};

// A volume whose claim lives is never touched: its data may be on disks that come back.
LostVolumePlan plan_lost_volume(const Volume& volume, NodeDeletePolicy policy);

// For the administrator, with the commands that would let go of it.
std::string advice_on(const Volume& volume);

}  // namespace flexlocal::provisioner
