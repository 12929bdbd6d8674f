// Notices LVM metadata that somebody put back to what they were (vgcfgrestore): what is made,
// grown, wiped or activated by them may be the extents of a volume that they do not have.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/engine/lvm/group_memory.h"
#include "flexvolume/engine/lvm/lv_parts.h"

namespace flexlocal::engine {

// kOutdated: what shows that a group's metadata are older, and what is to be done about it.
Error older_metadata(std::string_view shown, const std::string& group);

inline constexpr std::string_view kGroupFolder = "/var/lib/flexlocal/groups";

// The host's memory of a group is a file: which metadata were seen last, and on which disks they
// stand. Each commit of LVM's raises their number, and a restore gives the number of the restored
// ones and one more, so that a number that is not larger with another text is an older one.
class RollbackGuard {
 public:
  RollbackGuard(const BackendParts& parts, Lvm& lvm) : parts_(parts), lvm_(lvm) {}
  explicit RollbackGuard(const LvParts& parts) : RollbackGuard(parts, parts.lvm) {}

  // Before extents of the group are taken or given away. kOutdated where its metadata are older
  // than those that were seen, or than what runs: the kernel has a device of a volume of ours that
  // LVM does not know, or knows as a smaller one. No program is started while they are the very
  // ones that were seen last. `mended`: a volume whose device is made what its metadata say just
  // now, and not looked at. The lock of the group is held.
  Status check(const std::string& group, std::string_view mended = {});
  // The same for who does not hold that lock, and takes it only to look closer.
  Status check_unlocked(const std::string& group);
  // The same before the device of a volume that is in no use is written to. kOutdated also where it
  // was active while LVM's metadata were older, and cannot be made what they say now.
  Status check_volume(const std::string& group, const VolumeName& name);
  // The same for a caller who mounts the device itself, and so waits for its disk all the same.
  // Where there is one alone, its word is enough, and it is read without a child: whoever restores
  // a group's metadata writes them there as well.
  Status check_mount(const std::string& group, const VolumeName& name);
  // Before the table of a volume's device is changed by somebody who has checked the group:
  // kOutdated where it is such a device, and open.
  Status check_open(const LogicalVolume& volume) const;
  // The same for a look, which waits for nobody: while the group is being changed there is nothing
  // to say of it, and whoever changes it has checked it.
  Status look(const std::string& group);

  // The group's metadata as the disks that it was last seen on have it now, all the same; nothing
  // where one does not answer within a second, is another group's, or none is known. No program is
  // started, and no lock of the group is needed.
  std::optional<MetadataHead> present(const std::string& group) const;

  // After a change of ours that came after a check; `made` is how it ended. kOutdated where
  // somebody put older metadata back meanwhile. The lock of the group is held. What could not be
  // noted is asked of LVM by the next check.
  Status note(const std::string& group, const Status& made);

  // Takes that lock, checks, makes the change and notes it. A change without a check before it
  // would make older metadata look newer than those that were seen.
  Status change(const std::string& group, const std::function<Status()>& make);

 private:
  Error older_than_seen(const MetadataHead& now, const MetadataHead& seen) const;
  std::optional<GroupMemory> recall(const std::string& group) const;
  void remember(const GroupMemory& memory);
  Status compare(const std::string& group, const std::optional<GroupMemory>& seen,
                 std::string_view mended);
  Status check_devices(const std::string& group, const std::optional<MetadataHead>& now,
                       std::string_view mended);
  Status compare_devices(const std::string& group, const std::optional<MetadataHead>& now,
                         std::string_view mended);
  void doubt_devices(const std::string& group, GroupMemory memory);
  Status make_sure(const std::string& group, const VolumeName& name);
  Result<bool> is_seen(const GroupMemory& seen) const;
  Result<std::optional<MetadataHead>> newest(const std::string& group,
                                             const std::vector<std::string>& disks) const;

  BackendParts parts_;
  Lvm& lvm_;
};

}  // namespace flexlocal::engine
