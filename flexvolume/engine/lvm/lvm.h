// LVM's commands, asked for JSON in bytes and told by argument vectors.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/program.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/host/node_config.h"
#include "flexvolume/engine/host/tools.h"
#include "flexvolume/engine/lvm/lvm_report.h"
#include "flexvolume/engine/lvm/mapper_rows.h"

namespace flexlocal::engine {

// An error from here keeps what the tool wrote to stderr. Which of many reasons a failed command
// had is not read from that text: callers ask for the state instead.
class Lvm {
 public:
  Lvm(CommandRunner& runner, const Tools& tools) : runner_(runner), tools_(tools) {}

  // What vgs, lvs or pvs reports in these columns: JSON, sizes in bytes, whatever the host's
  // lvm.conf says of reports. parse_rows() reads it. `settings`: more of lvm.conf, for this call.
  Result<std::string> report(std::string_view tool, std::string_view columns,
                             const std::vector<std::string>& more = {},
                             std::string_view settings = {});

  Result<std::vector<VolumeGroup>> groups();

  // kNotFound when the host has no such group.
  Result<VolumeGroup> group(std::string_view name);

  // All groups that have volumes, or are one of `wanted`, and every LV with our owner tag. A
  // group's free space and its volumes are of one reading of its metadata, so that no volume is
  // missing from both, or counted in both. One command, and another where a wanted group has no
  // volume at all.
  Result<Inventory> inventory(const std::set<std::string>& wanted);

  // The LV of that name, ours or a stranger's. A group that is not there has none: a caller for
  // whom that matters asks for the group.
  Result<std::optional<LogicalVolume>> find(std::string_view group, const VolumeName& name);

  // The LVs of that name on all groups.
  Result<std::vector<LogicalVolume>> find_anywhere(const VolumeName& name);

  // The LV that device-mapper's uuid is of, whatever its name is by now.
  Result<std::optional<LogicalVolume>> find_device(std::string_view device_uuid);

  // The same on one group, and all LVs of one, ours and strangers'. They ask nobody but that group,
  // and pass over disks that are suspended: neither another group's lock nor a hanging disk keeps
  // them, and they do not wait for the volume that they are asked about. kFailed when the group is
  // not there.
  Result<std::optional<LogicalVolume>> find_on(std::string_view group, const VolumeName& name);
  Result<std::vector<LogicalVolume>> volumes_on(std::string_view group);
  // By the same care.
  Result<GroupDisks> group_disks(std::string_view group);

  // All of device-mapper's devices.
  Result<std::vector<MapperRow>> mapper_rows();

  // What is free on each disk of the group.
  Result<std::vector<Bytes>> disks(std::string_view group);

  // kNotFound when the group has no thin pool of that name.
  Result<ThinPool> thin_pool(std::string_view group, std::string_view name);

  // Makes the pool active, also where remains of a killed command are in the way. Idempotent.
  Status activate_thin_pool(std::string_view group, std::string_view name);

  // Takes away what a killed command left active of the volume's, or thin pool's, components, so
  // that the whole can become active. Whether there was something.
  Result<bool> clear_remains(std::string_view group, std::string_view name);

  // LVM commits a new thin volume before it tells the pool; killed between, it leaves one that
  // never becomes active. This sends the pool LVM's message (create_thin, in
  // Documentation/admin-guide/device-mapper/thin-provisioning.rst), which makes an empty volume.
  // kFailed, and nothing is changed, where the pool has this volume already.
  Status send_create_message(const LogicalVolume& volume);

  // An active LV of the spec's backend, laid out as the pool says. LVM wipes the start of a thick
  // one and any signature it finds (-W y -Z y); a thin one has nothing on it.
  Status create(const Pool& pool, const VolumeSpec& spec, std::string_view attempt);

  // Extends the LV to `size`, which LVM rounds up; an LV that has as much fails.
  Status extend(const LogicalVolume& volume, Bytes size);

  Status activate(const LogicalVolume& volume);
  // Whether the lvcreate of it was killed before the LV could ever be used: LVM takes it for whole,
  // and does not activate it.
  Result<bool> is_half_made(const LogicalVolume& volume);
  // Whether the cache of a cached LV keeps nothing back from the LV's own disk.
  Result<bool> writes_through(const LogicalVolume& volume);
  // The node of an active LV's device in /dev/mapper, where it is not there or leads elsewhere.
  Status make_node(const LogicalVolume& volume);

  // Makes the active LV's devices what LVM's metadata say, and lets their I/O go on, whatever a
  // killed command left of them: `lvchange --refresh`, twice, see suspension.h. The first one may
  // fail on the table that was left.
  Status refresh(const LogicalVolume& volume);

  // The same for a thin pool.
  Status refresh_thin_pool(std::string_view group, std::string_view name);

  // Lets the I/O of a device go on by its live table, and drops an inactive one (man dmsetup).
  Status resume_with_live_table(const std::string& mapper_name);

  // Removes the LV with this uuid, whatever its name is by now. An LV that is not there any more
  // is success; one that is open fails, and a thin one whose pool is down or takes no changes.
  Status remove(const LogicalVolume& volume);

  // Puts the one state into the tags and takes the others out. Idempotent.
  Status tag_ready(const LogicalVolume& volume) { return tag(volume, kReadyTag); }
  Status tag_wiping(const LogicalVolume& volume) { return tag(volume, kWipingTag); }
  // Beside the state. Idempotent.
  Status tag_retained(const LogicalVolume& volume, Retained retained);

 private:
  static constexpr std::chrono::seconds kReportDeadline{45};
  // A command that is killed while it changes something leaves work for the next one, see
  // suspension.h: it gets the time that a slow disk needs.
  static constexpr std::chrono::seconds kChangeDeadline{120};

  Status ready_for_removal(const LogicalVolume& volume);
  Status tag(const LogicalVolume& volume, std::string_view state);
  Status change(const LogicalVolume& volume, std::vector<std::string> arguments);
  Status refresh_twice(const std::vector<std::string>& arguments);
  // run_above() the volume itself, or its thin pool.
  Status run_on(const LogicalVolume& volume, std::string_view tool,
                std::vector<std::string> arguments,
                std::chrono::milliseconds deadline = kChangeDeadline);
  // run(), and once more where remains below that volume or thin pool were in the way.
  Status run_above(std::string_view group, std::string_view name, std::string_view tool,
                   std::vector<std::string> arguments,
                   std::chrono::milliseconds deadline = kChangeDeadline);
  Result<std::vector<LogicalVolume>> on_group(std::string_view group,
                                              std::vector<std::string> more);
  Result<std::string> run(std::string_view tool, std::vector<std::string> arguments,
                          std::chrono::milliseconds deadline = kChangeDeadline,
                          std::string_view settings = {});
  Result<std::string> start(std::string_view tool, std::vector<std::string> arguments,
                            std::chrono::milliseconds deadline);

  CommandRunner& runner_;
  const Tools& tools_;
};

}  // namespace flexlocal::engine
