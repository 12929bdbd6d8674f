// LVM, asked for JSON in bytes and told by argument vectors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/program.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract.h"
#include "flexvolume/engine/space.h"
#include "flexvolume/engine/tools.h"

namespace flexlocal::engine {

struct VolumeGroup {
  std::string name;
  Bytes size;
  Bytes free;
  Bytes extent;
};

struct LogicalVolume {
  std::string group;
  std::string name;
  std::string uuid;         // lv_uuid as LVM prints it
  std::string device_uuid;  // what device-mapper calls it: "LVM-<vg uuid><lv uuid>", no hyphens
  Bytes size;
  bool open = false;  // somebody has the device open: a mount, most often
  bool active = false;
  std::optional<Ownership> ownership;  // nothing: a stranger's
};

struct Inventory {
  std::vector<VolumeGroup> groups;
  std::vector<LogicalVolume> volumes;  // those with our owner tag, of whichever cluster
  // Added by Engine::inventory, which knows the pools:
  std::vector<Space> spaces{};
  std::vector<Holding> holdings{};
};

// What `vgs` and `lvs` printed with --reportformat json. kCorrupt when it is not that.
Result<std::vector<VolumeGroup>> parse_volume_groups(std::string_view report);
Result<std::vector<LogicalVolume>> parse_logical_volumes(std::string_view report);
// Of `vgs` with columns of both: a row for each volume, none for a group that has no volume.
Result<Inventory> parse_inventory(std::string_view report);

// An error from here keeps what the tool wrote to stderr. Which of many reasons a failed command
// had is not read from that text: callers ask for the state instead.
class Lvm {
 public:
  Lvm(CommandRunner& runner, const Tools& tools) : runner_(runner), tools_(tools) {}

  Result<std::vector<VolumeGroup>> groups();

  // kNotFound when the host has no such group.
  Result<VolumeGroup> group(std::string_view name);

  // All groups, and every LV with our owner tag. A group's free space and its volumes are of one
  // reading of its metadata, so that no volume is missing from both, or counted in both.
  Result<Inventory> inventory();

  // The LV of that name, ours or a stranger's. A group that is not there has none: a caller for
  // whom that matters asks for the group.
  Result<std::optional<LogicalVolume>> find(std::string_view group, const VolumeName& name);

  // The LVs of that name on all groups.
  Result<std::vector<LogicalVolume>> find_anywhere(const VolumeName& name);

  // A thick, active LV; LVM wipes its start and any signature it finds (-W y -Z y).
  Status create(std::string_view group, const VolumeSpec& spec, std::string_view attempt);

  Status activate(const LogicalVolume& volume);

  // Removes the LV with this uuid, whatever its name is by now. An LV that is not there any more
  // is success; one that is open fails.
  Status remove(const LogicalVolume& volume);

  // Puts `ready` into the tags. Idempotent.
  Status tag_ready(const LogicalVolume& volume);

 private:
  Result<std::string> run(std::string_view tool, std::vector<std::string> arguments,
                          std::chrono::milliseconds deadline = std::chrono::seconds(45));

  CommandRunner& runner_;
  const Tools& tools_;
};

}  // namespace flexlocal::engine
