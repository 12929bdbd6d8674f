// What becomes of a copy that no PersistentVolume names: a pure decision.
#pragma once

#include <chrono>
#include <string>

#include "provisioner/controller/reclaim/orphan_policy.h"

namespace flexlocal::provisioner {

// For so long a copy is without a PersistentVolume before a person is told.
inline constexpr std::chrono::minutes kOrphanTold{1};

struct OrphanedCopy {
  bool claim_lives = false;        // its data stays as long as the claim does
  bool is_ordered = true;          // else its node alone tells of it
  bool retained = false;           // by its policy, or because a person said so
  bool node_is_gone = false;       // nobody could answer
  bool in_doubt = false;           // the API server may have forgotten whose it is
  std::chrono::nanoseconds age{};  // for so long it has had neither PersistentVolume nor claim
  // For so long nothing of all that was in the way.
  std::chrono::nanoseconds removable_for{};
};

enum class OrphanedCopyAction { kWait, kReportToClaim, kReport, kAnnounce, kRemove };

// Whether anything but time is in the way of its removal.
inline bool is_removable(const OrphanedCopy& copy) {
  return !copy.claim_lives && copy.is_ordered && !copy.retained && !copy.node_is_gone &&
         !copy.in_doubt;
}

struct OrphanedCopyPlan {
  OrphanedCopyAction action = OrphanedCopyAction::kWait;
  std::string why{};  // of kReport and kAnnounce: why it stays, or how long
};

// `grace`: how long a copy has to be an orphan before it is removed.
OrphanedCopyPlan plan_orphaned_copy(const OrphanedCopy& copy, OrphanPolicy policy,
                                    std::chrono::nanoseconds grace);

}  // namespace flexlocal::provisioner
