// How much of a pool is still to give away: exact, and nothing else in this file.
#pragma once

#include <string>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/engine.h"

namespace flexlocal::provisioner {

// A volume that was given away: a PersistentVolume of this node, or one that is being created; or
// one that is asked for.
struct Promise {
  std::string name;
  engine::Backend backend = engine::Backend::kLvm;
  std::string pool;
  Bytes size;
};

// What a node has promised. Nearly all of it changes seldom and may be thousands of volumes.
struct Promised {
  std::vector<const Promise*> by_name;  // in that order, each volume once
  std::vector<const Promise*> more;     // in any order, and of any volumes
};

// What one pool has for one volume that is asked for, at one moment.
struct PoolRoom {
  engine::Pool pool;
  Bytes unit;                 // sizes are made whole multiples of it
  Bytes free;                 // of the space behind pool and backend, less what is promised of it
  bool disks_suffice = true;  // for the layout of this volume and of all that are promised
  Bytes held{};               // what the volume itself offers already; 0: it has not been made
};

// Room for `wanted` beside what is promised. A volume counts once, at the largest size that is
// named, and only with what it does not offer yet: what exists is missing from the space itself. A
// volume that is being removed still exists, so its space is not offered before it is really free.
//
// `wanted` may be a volume that exists and is to grow: `held` is then not among what is free.
//
// LVM chooses the disks when a volume is made, in an order that nobody knows yet. So each promise
// is counted on every disk when layouts are looked at: a "no" may be too careful while others wait
// for their first mount, a "yes" holds for all of them, unless a mount fails later and gives its
// disks back.
//
// kNotFound, in words, when the node has no such pool, the pool has no volumes of that backend, or
// what they would lie on is not to be seen.
Result<PoolRoom> room_for(const Promise& wanted, const engine::NodeConfig& config,
                          const engine::Inventory& inventory, const Promised& promised);

}  // namespace flexlocal::provisioner
