#include "provisioner/room.h"

#include <set>

namespace flexlocal::provisioner {

Bytes free_space(const engine::Inventory& inventory, const engine::VolumeGroup& group,
                 const std::vector<Promise>& promises) {
  std::set<std::string_view> counted;
  for (const engine::LogicalVolume& volume : inventory.volumes)
    if (volume.group == group.name) counted.insert(volume.name);
  Bytes promised;
  for (const Promise& promise : promises)
    if (promise.group == group.name && counted.insert(promise.name).second)
      promised += promise.capacity.rounded_up_to(group.extent);
  return group.free - promised;
}

}  // namespace flexlocal::provisioner
