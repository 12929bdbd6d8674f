// Carries out the plan of lv_plan.h for one volume.
#pragma once

#include <optional>
#include <string>

#include "flexvolume/engine/host/node_config.h"
#include "flexvolume/engine/lvm/lv_parts.h"
#include "flexvolume/engine/lvm/lv_plan.h"

namespace flexlocal::engine {

// For one call, while the volume's lock is held.
class LvMaker {
 public:
  LvMaker(const LvParts& parts, const VolumeSpec& spec, const Pool& pool, int lock);

  // Finds the volume or makes it, and returns the path of its device. After a failure nothing
  // that this call made is left. Killed anywhere, the next call ends where this one would have.
  Result<std::string> run();

  // The same, but what is not there is not made, and what has no complete file system is refused,
  // also where it is promised: as if there were no record, which is written then.
  Result<std::string> find() {
    find_only_ = true;
    return run();
  }

  // The volume's record as run() left it.
  const Record& record() const { return record_; }

 private:
  Result<std::string> run_steps();
  Status carry_out(Step step);

  Status load_record();
  Status create();
  Status create_in_group();
  Status explain_failed_create(const Error& error);
  Status look_up();
  void adopt(LogicalVolume volume);
  Status check_node();
  Status activate();
  Status check_metadata();
  Status check_half_made();
  Status check_nowhere_else();
  bool may_be_untold() const;
  std::string fs_uuid() const;
  const std::string& attempt() const;  // of the lvcreate that made what is there
  Status probe();
  Status confirm();
  Status format();
  Status mark_ready();
  Status remove_found();
  Status remove_own();
  Status save(RecordState state);
  Error refusal(Step step) const;
  void undo();

  LvParts parts_;
  const VolumeSpec& spec_;
  const Pool& pool_;
  const std::string& group_;
  std::string device_;
  int lock_;

  bool find_only_ = false;
  Situation now_;
  Record record_;
  std::optional<LogicalVolume> found_;
  // Set by this call's lvcreate until the volume is ready: what undo() may remove.
  std::string attempt_made_here_;
};

}  // namespace flexlocal::engine
