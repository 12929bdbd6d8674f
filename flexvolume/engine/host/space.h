// What volumes compete for, and what a volume takes of it: the figures that decide whether there is
// room, in one place for the daemon that promises and the engine that makes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/engine/contract/volume_kinds.h"
#include "flexvolume/engine/host/node_config.h"

namespace flexlocal::engine {

// Several pools, and several backends of one pool, may share a space or not: thick volumes share
// their volume group, thin ones their thin pool, quota folders their file system.
struct Space {
  // How full a thin pool is, in percent, rounded up.
  struct ThinUse {
    unsigned data;
    unsigned metadata;
  };

  std::string id;            // see space_id()
  Bytes size;                // what can be promised in all: overcommit included
  Bytes free;                // less what existing volumes take, ours or a stranger's
  Bytes unit;                // sizes are made whole multiples of it
  std::vector<Bytes> disks;  // of a volume group: what is free on each of its disks
  std::optional<ThinUse> thin_use{};
};

// A volume of ours that exists and is counted in its space's `free`.
struct Holding {
  std::string volume;
  std::string space;
  Bytes size;  // what it offers now
};

// "group:data", "thin:data/pool0", "quota:fast" (the pool's own name). Empty when node.conf gives
// the pool nothing of that kind.
std::string space_id(Backend backend, const std::string& pool_name, const Pool& pool);

// What a volume of `size` will offer, and what it takes of its space.
Bytes size_in(Backend backend, const Pool& pool, Bytes size, Bytes unit);
Bytes cost_in(Backend backend, const Pool& pool, Bytes size, Bytes unit);

// Whether the disks behind the space can hold one more volume of `size` now, as the pool's layout
// wants it; what is promised besides is for the caller to count.
bool fits_disks(Backend backend, const Pool& pool, const Space& space, Bytes size);

}  // namespace flexlocal::engine
