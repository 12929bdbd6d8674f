// How much of a pool is still to give away, and what a volume takes of it: exact, and nothing else
// in this file.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/engine.h"

namespace flexlocal::provisioner {

// A volume that was given away: by a record of this host, or one that is being created or grown; or
// one that is asked for.
struct Promise {
  std::string name;
  engine::Backend backend = engine::Backend::kLvm;
  std::string pool;
  Bytes size;
};

// What a volume of that spec asks for.
Promise promise_of(const engine::VolumeSpec& volume);

// What one pool has for one volume that is asked for, at one moment.
struct PoolRoom {
  engine::Pool pool;
  Bytes unit;                 // sizes are made whole multiples of it
  Bytes free;                 // of the space behind pool and backend, less what is promised of it
  bool disks_suffice = true;  // for the layout of this volume and of all that are promised
  Bytes held{};               // what the volume itself offers already; 0: it has not been made
};

// What is still to be taken from its space for a promise.
struct Demand {
  engine::Backend backend;
  const engine::Pool* pool;
  Bytes size;  // beyond what the volume offers already
  Bytes cost;
  Bytes most_on_one_disk;  // the parts of a volume lie on different disks

  bool has_layout() const;  // it cannot lie on just any disk
};

// `held`: what the volume offers already; 0: it has not been made.
Demand demand_of(const Promise& promise, const engine::Pool& pool, Bytes unit, Bytes held);

// LVM chooses the disks when a volume is made, in an order that nobody knows yet. So each promise
// is counted on every disk: a "no" may be too careful while others wait for their first mount, a
// "yes" holds for all of them, unless a mount fails later and gives its disks back. `on_each_disk`:
// the most that all demands of the space, this one included, may take of one disk.
bool finds_disks(const Demand& demand, const engine::Space& space, Bytes on_each_disk);

// The pool that node.conf has under the name that is wanted, and the id of the space behind it for
// volumes of that backend.
struct PoolPlace {
  const engine::Pool& pool;
  std::string space;
};

// kNotFound, in words, when the node has no such pool or the pool no volumes of that backend.
Result<PoolPlace> find_place(const Promise& wanted, const engine::NodeConfig& config);

// The largest whole multiple of `unit`, up to `most`, that fits; 0 when none does. Whatever is
// smaller than one that fits must fit, too.
Bytes largest_that_fits(Bytes most, Bytes unit, const std::function<bool(Bytes size)>& fits);

// The size that a volume really gets for which `wanted` is asked and that offers nothing yet;
// kNoSpace, with figures, where there is no room for it.
Result<Bytes> size_that_fits(const Promise& wanted, const PoolRoom& room);

// What the pool's volumes would lie on is not to be seen: kNotFound, in words.
Error not_seen(const Promise& wanted, const engine::Pool& pool);

}  // namespace flexlocal::provisioner
