// Makes a logical volume and its file system larger.
#pragma once

#include "flexvolume/engine/lvm/lv_parts.h"

namespace flexlocal::engine {

// The order: extend the LV, then the file system. A kill between the two leaves a larger LV under
// a smaller file system, which the next call completes; the volume works all the while.
class LvGrower {
 public:
  LvGrower(const LvParts& parts, const VolumeSpec& spec, const Pool& pool)
      : parts_(parts), spec_(spec), pool_(pool) {}

  // See Engine::grow. The volume's lock is held.
  Status run(Bytes size);

  // Lets the file system of a recorded volume have what its device has, where a mount of it can be
  // written to, and notes that it has; without such a mount that stays for a later one. What a
  // killed command left of the device is finished first. Takes the group's lock.
  Status finish(Record record);

 private:
  // Of the volume's device, as far as this process sees them.
  struct Mounts {
    bool none = true;
    std::string writable;  // where one is; empty: there is none
  };

  Result<Mounts> find_mounts(const std::string& device) const;
  Status check_not_hidden() const;
  Status extend_noted(Record& record, const LogicalVolume& volume, Bytes size);
  Status grow_file_system(Record record, const std::string& mount_point);
  Result<Record> load_record() const;
  Result<LogicalVolume> find(const Record& record) const;
  Status extend(const LogicalVolume& volume, Bytes size);
  Status check_extended(Bytes size);

  LvParts parts_;
  const VolumeSpec& spec_;
  const Pool& pool_;
};

}  // namespace flexlocal::engine
