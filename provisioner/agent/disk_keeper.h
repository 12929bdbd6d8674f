// What a node's disks need again and again, whoever orders what.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/agent/ledger.h"
#include "provisioner/agent/node_report.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

struct DiskIntervals {
  // How often records and tags are brought together.
  std::chrono::seconds tidy{60};
  // And after a try that failed, twice as long after each: until one does not, the node says that
  // it is not ready.
  std::chrono::seconds failed_tidy{5};
  // How often pods' I/O limits are looked after: on cgroup v1 a new container has none until then.
  std::chrono::milliseconds limits{1000};
  // How often suspended devices are looked for: pods wait for their I/O until then.
  std::chrono::milliseconds resume{1000};
};

class DiskKeeper {
 public:
  // `tidied` is called after each tidying, well or not; it must not wait.
  DiskKeeper(Storage& storage, Ledger& ledger, Log& log, const DiskIntervals& intervals,
             std::function<void()> tidied)
      : storage_(storage),
        ledger_(ledger),
        log_(log),
        intervals_(intervals),
        tidied_(std::move(tidied)) {}

  // Each goes on until its task is told to stop.
  Task<void> tidy();
  Task<void> refresh_io_limits();
  Task<void> resume_suspended();

  const NodeState& state() const { return state_; }

 private:
  Task<Status> tidy_once();
  // `look` again and again; what fails is told as `trouble`, once for as long as it lasts.
  Task<void> repeat(Task<Status> (Storage::*look)(), std::chrono::milliseconds interval,
                    std::string trouble);

  Storage& storage_;
  Ledger& ledger_;
  Log& log_;
  DiskIntervals intervals_;
  std::function<void()> tidied_;
  LastingTrouble outdated_groups_;
  LastingTrouble untidy_;
  NodeState state_;
};

}  // namespace flexlocal::provisioner
