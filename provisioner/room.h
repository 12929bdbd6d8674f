// How much of a pool is still to give away: exact, and nothing else in this file.
#pragma once

#include <string>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/engine/engine.h"

namespace flexlocal::provisioner {

// A volume that was given away: a PersistentVolume of this node, or one that is being created.
struct Promise {
  std::string name;
  std::string group;  // the volume group it is, or will be, on
  Bytes capacity;
};

// free = the group's free space - what is promised and not taken from it yet. A volume whose LV
// exists has been taken already; one that is being removed still has its LV, so its space is not
// offered before it is really free.
// A promise counts once, however often it is named.
Bytes free_space(const engine::Inventory& inventory, const engine::VolumeGroup& group,
                 const std::vector<Promise>& promises);

}  // namespace flexlocal::provisioner
