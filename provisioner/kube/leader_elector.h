// Stands for election, and does the leader's work while it leads.
#pragma once

#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/kube/condition.h"
#include "provisioner/kube/election.h"
#include "provisioner/kube/leader_gate.h"
#include "provisioner/kube/task_group.h"

namespace flexlocal::kube {

// What the leader does; once for each term. Its requests go through the gate.
class LeaderWork {
 public:
  virtual ~LeaderWork() = default;
  // Until stop(); its task is told to stop when leading ends against its will, and must end then.
  virtual Task<void> lead() = 0;
  // Finishes what is begun and ends lead(); there is time for it until the next renewal fails.
  virtual void stop() = 0;
  // The API server was seen to have been put back to an earlier state, by a restore of etcd: what
  // was known of it no longer holds. A term under way ends right after this.
  virtual void put_back() = 0;
};

class LeaderElector {
 public:
  // `api`: past the gate, and not shared with work that could use up its requests. `clock`: goes on
  // while the machine sleeps, and is the gate's, too.
  LeaderElector(asio::io_context& io, LeaseClient& lease, const Clock& clock, Log& log,
                const ElectionOptions& options, LeaderGate& gate, LeaderWork& work)
      : io_(io),
        lease_(lease),
        clock_(clock),
        log_(log),
        gate_(gate),
        work_(work),
        options_(options),
        election_(options) {}

  // Candidate, leader, candidate again, until stop(): then the work is finished and the Lease given
  // back. Once only; not to be cancelled while it leads.
  Task<void> run();
  void stop() {
    stopped_ = true;
    changed_.notify_all();
  }

  bool leads() const { return election_.leads(clock_.now()); }

 private:
  Task<void> lead_a_term();
  Task<void> work_to_the_end();
  Task<void> end_with_the_term(TaskGroup& work);
  Task<void> step();
  Task<void> wait(Clock::Instant until);
  Task<void> read();
  Task<void> write(const Election::Step& step);
  void check_put_back();
  Task<void> give_back();
  void log_failure(const Error& error);

  asio::io_context& io_;
  LeaseClient& lease_;
  const Clock& clock_;
  Log& log_;
  LeaderGate& gate_;
  LeaderWork& work_;
  ElectionOptions options_;
  Election election_;
  Condition changed_;
  bool stopped_ = false;
  bool working_ = false;
  std::optional<ErrorCode> told_;  // the last trouble
  std::string told_holder_;        // the last leader
};

}  // namespace flexlocal::kube
