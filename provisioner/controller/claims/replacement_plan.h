// What the volume of a bound claim gets in place of a copy that its node promised and cannot make,
// or that was withdrawn before its PersistentVolume came: a pure decision. No pod has had such a
// copy: its node has turned its record from promised to refused before one could mount it, which it
// never takes back, or has taken that record away.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

struct ReplacementSituation {
  const Claim& claim;
  const Volume* volume = nullptr;   // its PersistentVolume; nullptr: there is none
  std::vector<KnownCopy> copies{};  // of its volume
  // Whether the API server may have been put back: what it says of a copy may be of earlier.
  bool in_doubt = false;
  // Since when the order that is to serve has not been answered; nullopt: it is.
  std::optional<std::chrono::nanoseconds> unanswered_for{};
};

enum class ReplacementAction {
  kNone,       // nothing is to be replaced
  kWait,       // for a node's answer, or until it is known whether the API server was put back
  kGiveUp,     // mark `copy` so, and order its removal: `why`
  kGiveOrder,  // one like `copy`, which was given up, of another node
  kWithdraw,   // the order `copy`, which was to have its place: `why`
  kReplace,    // end the PersistentVolume, if there is one, and make it for `copy`
  kReport      // a person has to do something: `why`
};

struct ReplacementPlan {
  ReplacementAction action = ReplacementAction::kNone;
  KnownCopy copy{};
  std::string why{};
};

// Giving up is one write on one object, the copy: whoever comes later finds it, and goes on.
ReplacementPlan plan_replacement(const ReplacementSituation& now);

}  // namespace flexlocal::provisioner
