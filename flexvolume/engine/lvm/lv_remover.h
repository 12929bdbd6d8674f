// Removes a logical volume, once its blocks are wiped.
#pragma once

#include <vector>

#include "flexvolume/engine/lvm/lv_parts.h"

namespace flexlocal::engine {

// The order: record and tags say `wiping`, from when on nothing mounts the volume; wipe; lvremove;
// forget the record. A kill anywhere is followed by a call that goes on where this one was.
// What is read of a device of that size to see whether a discard has cleared it: a MiB at both
// ends, where file systems keep what they start from, and 4 KiB for each 256 MiB between them, at
// least 255 times. Devices may answer a discard without doing it, or round it to their own blocks.
struct Spot {
  Bytes offset;
  Bytes length;
};
std::vector<Spot> spots_to_read(Bytes size);

class LvRemover {
 public:
  explicit LvRemover(const LvParts& parts) : parts_(parts) {}

  // `volume` is proven ours. kBusy while it is open. The volume's lock is held.
  Result<Removal> run(const VolumeSpec& spec, const LogicalVolume& volume);

 private:
  Result<Record> announce(const VolumeSpec& spec, const LogicalVolume& volume);
  Status check_cache(const LogicalVolume& volume);
  Result<Removal> wipe(Record record, const LogicalVolume& volume);
  Status discard(const std::string& device, Bytes size);
  Result<bool> reads_as_zeros(const std::string& device, Bytes size);
  Result<Removal> zero(Record record, const std::string& device, Bytes size);
  Status blkdiscard(std::vector<std::string> arguments, std::chrono::milliseconds deadline);
  Status remove(const VolumeSpec& spec, const LogicalVolume& volume);

  LvParts parts_;
};

}  // namespace flexlocal::engine
