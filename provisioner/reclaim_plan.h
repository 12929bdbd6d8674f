// What to do with a volume that may be on its way out: a pure decision.
#pragma once

#include "provisioner/objects.h"

namespace flexlocal::provisioner {

enum class ReclaimPlan {
  kLeaveAlone,
  kRemove,        // take the space back, then let the PersistentVolume go
  kLetGo,         // the policy keeps the data, and a person deletes the PersistentVolume
  kKeepDeleting,  // a person deletes the PersistentVolume of a claim that lives: the data stays
};

// Only volumes that this driver made on this node, and has not let go yet. Data goes only when the
// claim has let go (phase Released, or Failed after an earlier try) and the policy says Delete.
ReclaimPlan plan_reclaim(const Volume& volume, const std::string& node);

}  // namespace flexlocal::provisioner
