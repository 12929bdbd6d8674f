// What becomes of the copy behind a PersistentVolume, and of that itself: a pure decision.
#pragma once

#include <string>

#include "provisioner/controller/reclaim/reclaim_plan.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

enum class EndAction {
  kNone,
  kDelete,     // the PersistentVolume, under its uid and version: held by our finalizer, it stays
               // until its data is gone
  kGiveOrder,  // that the copy be in the state `desired`; without an object of it, one is made
  kWait,       // for the node's answer
  kRelease     // take our finalizer away
};

struct EndPlan {
  EndAction action = EndAction::kNone;
  DesiredState desired = DesiredState::kServing;
  // A person deletes the PersistentVolume of a claim that lives: they are told that it stays.
  bool keeps_deleting = false;

  bool operator==(const EndPlan&) const = default;
};

// As an order says it: only "Delete" says that the data may go.
std::string policy_of_order(const Volume& volume);

// Another copy is to have the place of the one that the PersistentVolume names, so that its order
// is not given again: see claims/replacement_plan.h. Where each node's daemon gives its own orders
// nobody replaces it.
bool is_to_be_replaced(const Volume& volume, const VolumeCopy* copy);

// `copy`: the one that the PersistentVolume names; nullptr: there is no such object.
EndPlan plan_end(const Volume& volume, const VolumeCopy* copy);

}  // namespace flexlocal::provisioner
