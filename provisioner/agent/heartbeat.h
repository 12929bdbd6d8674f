// The node daemon's sign of life: a Lease that is renewed as long as it runs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/kube/backoff.h"
#include "provisioner/kube/condition.h"
#include "provisioner/kube/version.h"
#include "provisioner/objects/heartbeat_record.h"

namespace flexlocal::provisioner {

using kube::Task;

struct HeartbeatOptions {
  std::string lease_namespace;
  HeartbeatOwner owner;
  bool gives_way = false;  // while another holder beats for the same Node
  std::chrono::nanoseconds interval = kHeartbeatInterval;
  // Not yet ready, or after a failure: the first pause, which doubles up to the interval. And the
  // pause before a beat that is asked for.
  std::chrono::nanoseconds shortest = std::chrono::seconds(1);
};

// One request a beat: an update with the version that is known. After a failure, and a conflict is
// one, the next beat reads first.
class Heartbeat {
 public:
  using Report = std::function<NodeReport()>;

  // `api`: one whose limit the daemon's other requests do not use up.
  Heartbeat(kube::ApiClient& api, const Clock& clock, Log& log, HeartbeatOptions options,
            Report report)
      : clock_(clock),
        log_(log),
        options_(std::move(options)),
        report_(std::move(report)),
        lease_(api, options_.lease_namespace, heartbeat_name(options_.owner.node)) {}

  // Called after each beat with how it ended: kBusy while another host beats for the same Node. It
  // must not wait. To be set before run().
  void on_beat(std::function<void(const Status& beaten)> handler) { on_beat_ = std::move(handler); }

  // Called when the Lease is seen at an older version than before: the API server was put back to
  // an earlier state, by a restore of etcd. It must not wait. To be set before run().
  void on_put_back(std::function<void()> handler) { on_put_back_ = std::move(handler); }

  // What the report says has changed, and somebody waits for it: the next beat comes now, but no
  // sooner than the shortest pause after the last.
  void beat_soon();

  // Beats until its task is told to stop. Failures are logged once each and tried again.
  Task<void> run();

 private:
  enum class Next { kCreate, kRead, kUpdate };

  Task<Status> beat(const NodeReport& report);
  Task<Status> rest(std::chrono::nanoseconds pause);
  std::chrono::nanoseconds retry_after(unsigned failures);
  void see(const kube::Lease& lease);
  Status check_rival();
  void log_failure(const Status& beaten);

  const Clock& clock_;
  Log& log_;
  HeartbeatOptions options_;
  kube::Random random_{std::random_device()()};
  Report report_;
  kube::LeaseClient lease_;
  kube::Lease known_;
  kube::ObjectVersion version_;  // of the Lease, when it was seen last
  Next next_ = Next::kCreate;
  std::optional<ErrorCode> logged_;
  std::function<void(const Status& beaten)> on_beat_;
  std::function<void()> on_put_back_;
  bool soon_ = false;  // see beat_soon(), since the last report
  kube::Condition hurried_;
  // Another holder's latest sign of life, and when it was first seen here.
  std::optional<Clock::Wall> rival_renewed_;
  Clock::Instant rival_seen_{};
};

}  // namespace flexlocal::provisioner
