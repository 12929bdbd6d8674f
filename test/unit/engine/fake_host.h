// A host at our own small interfaces: LVM, mkfs, blkid and devices with just enough behaviour to
// play every kill and every fault, which a real kernel gives too seldom. The node tier runs the
// same code on the real parts.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "flexvolume/engine/engine.h"
#include "test/unit/engine/fake_disk.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal::engine {

inline constexpr std::string_view kFakeGroup = "data";
// As device-mapper calls the volume "group/name", and what the volumes of a thin pool stand on.
std::string fake_mapper_name(const std::string& key);
std::string fake_pool_device(const std::string& pool);

// Thrown where the process would have been killed.
struct Killed {};

struct FakeVolume {
  std::vector<std::string> tags;
  std::string uuid;
  std::uint64_t size = 0;
  std::string start = std::string(kSuperblockBytes, '\0');  // what stands on the device
  bool files = false;                                       // in the root of its file system
  bool open = false;
  bool active = true;
  bool suspended = false;
  bool unknown = false;             // to LVM, whose metadata are older
  std::uint64_t device_size = 0;    // what the kernel has; 0: what LVM's metadata say
  std::uint64_t inactive_size = 0;  // of a table that was loaded and not taken up; 0: there is none
  std::string thin_pool = {};
};

std::string ext4_start(const std::string& uuid);

// An XFS superblock as mkfs.xfs leaves it, or left it when it was cut short.
std::string xfs_start(const std::string& uuid, bool in_progress);

class FakeHost final : public CommandRunner, public Devices, public Mounter, public Log {
 public:
  FakeHost();

  Host host();
  NodeConfig config() const;

  Result<CommandOutput> run(const Command& command) override;
  Result<std::string> mapper_uuid(const std::string& path) override;
  Result<MapperState> mapper_state(const std::string& path) override;
  Result<std::vector<MapperDevice>> mapper_devices() override;
  Result<std::vector<std::string>> suspended_devices() override;
  Result<bool> has_unfinished(const std::vector<std::string>& names) override;
  Result<std::string> read(const std::string& path, Bytes offset, std::size_t bytes) override;
  Result<std::string> read_direct(const std::string& path, Bytes offset,
                                  std::size_t bytes) override {
    return read(path, offset, bytes);
  }
  Result<std::string> read_cached(const std::string& path, Bytes offset,
                                  std::size_t bytes) override {
    return read(path, offset, bytes);
  }
  Result<std::string> disk_number(const std::string& path) override;
  Result<std::string> only_disk_of(const std::string&,
                                   const std::vector<std::string>& disks) override {
    if (disks.size() == 1) return disks.front();
    return Error(ErrorCode::kNotFound, "it stands on several");
  }
  Status resize_ext4(const std::string& mount_point, Bytes size) override;
  Result<Bytes> xfs_size(const std::string& mount_point) override;
  Result<std::vector<MountEntry>> table() override { return mounts; }
  Status mount(const MountSource& source, const MountFlags& flags,
               const MountPoint& point) override;
  Status unmount(const std::string& top) override;
  Result<bool> has_files(const MountSource& source, const FileLock& lock) override;
  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) override;

  // A folder that kubelet would have made for the volume.
  std::string volume_folder(const VolumeName& name, const std::string& pod = "4f0e");

  bool logged(std::string_view message) const;

  // Gives the host an xfsprogs that knows newer kernels than the running one; the path of the
  // profile that it has for them.
  std::string add_mkfs_profile() const;
  // Whether the first `program` that was started has `value` right after `flag`.
  bool passed(std::string_view program, std::string_view flag, std::string_view value) const;

  // The state, for tests to set up and to look at. Volumes by "group/name".
  std::map<std::string, FakeVolume> volumes;
  std::map<std::string, bool> thin_pools;  // of the group; whether each is suspended
  std::uint64_t group_free = 10 * kGiB.count();
  std::vector<MountEntry> mounts;
  std::vector<MountFlags> mount_flags;  // of each mount that was made
  std::vector<std::string> started;     // the programs, in order
  std::vector<Command> commands;        // the same, with their arguments
  std::vector<std::string> resized;     // where an ext4 was resized by its call
  std::vector<std::string> log_lines;   // the lines, as format_log_line writes them
  TemporaryFolder temporary;
  std::string folder = temporary.path();  // everything on disk is below it; "proc": its processes
  std::vector<std::string> messages;      // what was logged

  // Faults: kill before or after the effect of the n-th program (1 is the first; 0: never), leave
  // a new LV unwiped, fail a program by its name.
  int kill_before = 0;
  int kill_after = 0;
  std::string unwiped_start;
  std::string failing;
  int failures = 1000000;  // how many of its calls fail
  // The group's one disk, "/dev/fake-disk". Each change counts on; the daemon has seen the first.
  FakeDisk disk{.head = {std::string(kFakeGroup), "vg", 1, 1}};
  bool is_mapped = true;       // whether a volume's path leads to a device of device-mapper
  int mount_error = 0;         // the errno of each mount; 0: it is mounted
  std::string other_device;    // what device nodes lead to, when they lead astray
  bool discards_clear = true;  // a discarded device reads as zeros
  Bytes left_by_growth;        // what a grown file system leaves of its device
  // A program that runs into its deadline, before its effect or after it; one that says that all
  // went well and does nothing; what a failing one writes to stderr.
  std::string hanging;
  bool hangs_after_effect = false;
  // As an lvextend that is killed before its commit: the device stays suspended, with a second
  // table.
  bool leaves_table = false;
  std::string lying;
  std::string words = "fault asked for by the test";

 private:
  void commit();
  CommandOutput carry_out(const Command& command);
  CommandOutput lvcreate(const Command& command);
  CommandOutput lvs(const Command& command, std::string_view table) const;
  CommandOutput lvremove(const Command& command);
  CommandOutput lvchange(const Command& command);
  CommandOutput lvextend(const Command& command);
  CommandOutput dmsetup(const Command& command);
  static void refresh(FakeVolume& volume);
  CommandOutput mkfs(const Command& command);
  CommandOutput resize2fs(const std::string& device);
  CommandOutput blkdiscard(const Command& command);
  FakeVolume* at_device(const std::string& path);
  int uuids_ = 0;
};

VolumeSpec example_spec();
// As the PersistentVolume of the spec names it.
VolumeCall call_for(const VolumeSpec& spec);
// As the node daemon has it from an order that serves the claim which the volume is named after.
OrderedCopy order_of(const VolumeSpec& spec);
// Whether the volume has a record that says more than that it is promised.
bool was_begun(const FakeHost& host, const VolumeSpec& spec);

}  // namespace flexlocal::engine
