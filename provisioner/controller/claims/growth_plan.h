// Whether a bound claim's volume is to offer more, and how much: a pure decision.
#pragma once

#include <string>
#include <variant>

#include "provisioner/controller/claims/claim_plan.h"

namespace flexlocal::provisioner {

// The volume is to offer `asked`, at least. What of it is done already shows on the disks: a growth
// that was killed half-way is begun anew, since every step of it may be repeated.
struct Growth {
  engine::VolumeSpec spec;
  Bytes asked;
};

// The volume has what is asked for, but the claim's status or the PersistentVolume's capacity still
// says something else about its growth. The expand controller writes both without looking.
struct Settle {
  Bytes size;  // what the claim's status says that the file system has
  bool capacity_differs = false;
  bool status_differs = false;
};

using GrowthPlan = std::variant<LeaveAlone, Growth, Settle, Refuse>;

// The PersistentVolume's capacity proves nothing: for a FlexVolume the expand controller raises it
// at once, without asking anybody, and puts FileSystemResizePending on the claim
// (pkg/volume/noop_expandable_plugin.go, pkg/controller/volume/expand). So a growth is done when
// the claim's status says as much as the claim asks for.
//
// `volume`: the one that the claim names, nullptr when it is none of this node's. Only a bound pair
// of ours on this node grows, never one that is on its way out; a claim that asks for less, or for
// what it has, does not grow.
GrowthPlan plan_growth(const Claim& claim, const Volume* volume, const std::string& node,
                       const std::string& cluster_id);

// What is promised of the disks once the volume offers `size`.
Promise promise_of(const Growth& growth, Bytes size);

}  // namespace flexlocal::provisioner
