// What to do next to make a volume mountable: a pure decision over what is known, so that every
// way a killed call can leave things is a row in a test and not a branch in a program.
//
// A first mount finds the record `promised`. Its order is: record `intent` with a fresh random
// attempt, lvcreate with that attempt as a tag, record `new` with the device's uuid, mkfs, record
// `ready`, mount.
#pragma once

#include <optional>

#include "flexvolume/engine/host/device.h"
#include "flexvolume/engine/volume/record.h"

namespace flexlocal::engine {

enum class LvState {
  kUnknown,
  kAbsent,
  kCreated,  // by this very call: wiped, nothing on it
  kOurs,     // found, and its tags or its device uuid say that it is this volume
  kForeign   // the name is taken by something that is not this volume
};

enum class NodeState {
  kUnknown,
  kAbsent,   // no device node: the LV is not active, or gone
  kMatches,  // the node is the LV that record or tags name
  kDiffers   // the node leads to another device
};

// What is known at this moment; what is not known yet is found out when a step needs it.
struct Situation {
  std::optional<RecordState> record{};
  LvState lv = LvState::kUnknown;
  NodeState node = NodeState::kUnknown;
  std::optional<Content> content{};
  bool tagged_ready = false;   // the LV's tags say that it may hold data
  bool tagged_wiping = false;  // the LV's tags say that it is being removed
  bool same_attempt = false;   // the LV was made by the lvcreate that the `intent` record announced
  bool activated = false;      // activation was tried in this call
  bool half_made = false;      // LVM shows what its lvcreate had not finished
  bool current = false;        // LVM's metadata are no older than those that were seen before
};

enum class Step {
  kCreate,         // write `intent`, run lvcreate
  kLookUp,         // ask LVM for the LV
  kCheckNode,      // compare the device node's uuid
  kActivate,       // make the device node appear
  kCheckMetadata,  // compare LVM's metadata with those that were seen last
  kProbe,          // read what stands on the device
  kConfirm,        // write `new` with the device's uuid
  kFormat,         // mkfs
  kMarkReady,      // write `ready`
  kMount,          // done here: the device can be mounted
  kRemoveOwn,      // remove what a killed lvcreate of ours left unwiped or half made
  kRefuseWiping,   // its removal has begun
  kRefuseForeign,  // the name is a stranger's
  kRefuseUnknown,  // no LV, no record, no promise
  kRefuseGone,     // a `ready` volume has lost its LV
  kRefuseNode,     // the device node is not the volume's
  kRefuseContent   // what is on the device must be looked at by a person
};

// Invariant 1 of the design lives here: kFormat is only ever returned for an LV that is ours,
// that neither record nor tags call ready, and that carries no complete file system.
Step next_step(const Situation& now);

}  // namespace flexlocal::engine
