// Whether a bound claim's volume is to offer more, and how much: a pure decision.
#pragma once

#include <string>
#include <variant>

#include "provisioner/claim_plan.h"

namespace flexlocal::provisioner {

// The volume is to offer `asked`, at least. The PersistentVolume may say so already, when a growth
// was killed half-way: then it is begun anew, since every step of it may be repeated.
struct Growth {
  engine::VolumeSpec spec;
  Bytes offered;  // what the PersistentVolume says
  Bytes asked;
};

using GrowthPlan = std::variant<LeaveAlone, Growth, Refuse>;

// `volume`: the one that the claim names, nullptr when it is none of this node's. Only a bound pair
// of ours on this node grows, never one that is on its way out; a claim that asks for less, or for
// what it has, is left alone, and so is what only kubelet has still to do at the next mount.
GrowthPlan plan_growth(const Claim& claim, const Volume* volume, const std::string& node,
                       const std::string& cluster_id);

// What is promised of the disks once the volume offers `size`.
Promise promise_of(const Growth& growth, Bytes size);

// The size that the volume will really offer, if there is room for what that takes beyond the
// volume of today; else kNoSpace with figures. `room`: room_for() what promise_of() `asked` says.
// Never less than the disks hold already: what an earlier try extended is not taken back.
Result<Bytes> fit_growth(const Growth& growth, const std::string& node, const PoolRoom& room);

// Who still has to do what, once the disks hold the size and the PersistentVolume says so.
enum class GrowthEnd {
  kComplete,   // the file system has it: the claim's status may say so
  kAtMount,    // the file system follows when kubelet mounts the volume: to be said on the claim
  kToldBefore  // the same, and it is said
};

// `made`: the volume was there to be grown. `inventory`: taken after the growth.
GrowthEnd end_of(const Growth& growth, const Claim& claim, bool made,
                 const engine::Inventory& inventory);

}  // namespace flexlocal::provisioner
