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
  Bytes granted;  // what this node has given its word for: the first size, or what it granted since
  Bytes capacity;  // what the PersistentVolume says, by whoever's hand
  Bytes asked;
  Bytes reported{};  // what the claim's status says that the file system has
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

// Returns the size that a volume has which offers what is asked for and no more.
Bytes size_asked(const Growth& growth, const PoolRoom& room);

// Returns what the volume has, if it does not grow. `held`: what the disks show of it, 0 when it is
// not made. Never less than the claim's status says: a disk that is not to be seen now is not gone.
Bytes size_kept(const Growth& growth, Bytes held);

// The size that the volume will really offer, if there is room for what that takes beyond the
// volume of today; else kNoSpace with figures. `room`: Accounts::room() what promise_of() `asked`
// says. Never less than the disks hold already: what an earlier try extended is not taken back.
Result<Bytes> fit_growth(const Growth& growth, const std::string& node, const PoolRoom& room);

// The same of the node's budget, for the size that fit_growth() said; `held`: what the volume
// offers. What has been given is kept, whatever the budget is now.
Status keep_budget(const Growth& growth, const std::string& node, const Allowance& allowance,
                   Bytes held, Bytes size);

// Whether all is done and said but what the next mount will do. `size`: what fit_growth() said;
// `held`: what the volume offers, 0 when it is not made.
bool awaits_mount(const Growth& growth, const Claim& claim, Bytes size, Bytes held,
                  const engine::Inventory& inventory);

// True if the PersistentVolume does not say yet what is so: its capacity, and what is granted,
// which counts until a disk shows it.
bool needs_patch(const Growth& growth, Bytes size, bool made);

// Who still has to do what, once the disks hold the size and the PersistentVolume says so.
enum class GrowthEnd {
  kComplete,  // the file system has it: the claim's status may say so
  kAtMount    // the file system follows when kubelet mounts the volume: the claim is to say so
};

// `made`: the volume was there to be grown. `inventory`: taken after the growth.
GrowthEnd end_of(const Growth& growth, bool made, const engine::Inventory& inventory);

}  // namespace flexlocal::provisioner
