// What to do with a volume that may be on its way out: a pure decision.
#pragma once

#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

enum class ReclaimPlan {
  kLeaveAlone,
  kRemove,  // take the space back, then let the PersistentVolume go
  kRetain,  // the policy keeps the data, and a person deletes the PersistentVolume: mark the data
            // as kept, then let the PersistentVolume go
  // A person deletes a PersistentVolume that no claim has yet, or has any more by a person's hand:
  // it may go, and the policy claims nothing for what there is of its data.
  kRelease,
  kKeepDeleting,  // a person deletes the PersistentVolume of a claim that lives: the data stays
};

// Only volumes that this driver made on this node, and has not let go yet. Data goes only when the
// claim has let go (phase Released, or Failed after an earlier try) and the policy says Delete.
ReclaimPlan plan_reclaim(const Volume& volume, const std::string& node);

}  // namespace flexlocal::provisioner
