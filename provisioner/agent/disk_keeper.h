// What a node's disks need again and again, whoever orders what.
#pragma once

#include <chrono>
#include <functional>
#include <random>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/agent/ledger.h"
#include "provisioner/agent/node_report.h"
#include "provisioner/kube/backoff.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

struct DiskIntervals {
  // How often records and tags are brought together where nothing shows a change, a tenth more or
  // less.
  std::chrono::milliseconds tidy{std::chrono::minutes(5)};
  // The same where the kernel tells of no changes, or something waits for one that it does not tell
  // of; and the longest pause for other reasons.
  std::chrono::milliseconds unsettled{std::chrono::minutes(1)};
  // After a look until the next for a change: twice as long after each while changes go on.
  std::chrono::milliseconds changed{5000};
  // From a change to the look: the next ones come with it.
  std::chrono::milliseconds gather{1000};
  // And after a try that failed, twice as long after each: until one does not, the node says that
  // it is not ready.
  std::chrono::milliseconds failed_tidy{5000};
  // How often pods' I/O limits are looked after: on cgroup v1 a new container has none until then.
  std::chrono::milliseconds limits{1000};
  // How often suspended devices are looked for: pods wait for their I/O until then.
  std::chrono::milliseconds resume{1000};
};

class DiskKeeper {
 public:
  // `tidied` is called after each tidying, well or not; it must not wait. `is_waited_for` says
  // whether something may be over at the next look that nothing tells of.
  DiskKeeper(Storage& storage, Ledger& ledger, Log& log, const DiskIntervals& intervals,
             std::function<void()> tidied, std::function<bool()> is_waited_for)
      : storage_(storage),
        ledger_(ledger),
        log_(log),
        intervals_(intervals),
        tidied_(std::move(tidied)),
        is_waited_for_(std::move(is_waited_for)) {}

  // Each goes on until its task is told to stop.
  Task<void> tidy();
  Task<void> refresh_io_limits();
  Task<void> resume_suspended();

  const NodeState& state() const { return state_; }

 private:
  Task<Status> tidy_once();
  // Until the next tidying is due, behind one that went well; kCancelled when it is not to come.
  Task<Status> rest();
  Task<Result<bool>> await_change();
  std::chrono::nanoseconds pause(std::chrono::milliseconds first, unsigned times) const;
  void note_events(const Status& armed);
  bool is_unsettled() const;
  // `look` again and again; what fails is told as `trouble`, once for as long as it lasts.
  Task<void> repeat(Task<Status> (Storage::*look)(), std::chrono::milliseconds interval,
                    std::string trouble);

  Storage& storage_;
  Ledger& ledger_;
  Log& log_;
  DiskIntervals intervals_;
  std::function<void()> tidied_;
  std::function<bool()> is_waited_for_;
  kube::Random random_{std::random_device()()};
  Status armed_;          // by the last look
  unsigned changes_ = 0;  // looks in a row that a change brought
  LastingTrouble outdated_groups_;
  LastingTrouble untidy_;
  NodeState state_;
};

}  // namespace flexlocal::provisioner
