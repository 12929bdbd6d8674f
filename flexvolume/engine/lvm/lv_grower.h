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

  // The volume is mounted at `mount_point`: lets the file system have what its device has, and
  // notes that it has.
  Status grow_file_system(Record record, const std::string& mount_point);

 private:
  Result<Record> load_record() const;
  Result<LogicalVolume> find(const Record& record) const;
  Status extend(const LogicalVolume& volume, Bytes size);
  Status check_extended(Bytes size);

  LvParts parts_;
  const VolumeSpec& spec_;
  const Pool& pool_;
};

}  // namespace flexlocal::engine
