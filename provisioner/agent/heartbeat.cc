#include "provisioner/agent/heartbeat.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {

Task<void> Heartbeat::run() {
  unsigned unsettled = 0;
  for (;;) {
    soon_ = false;
    const NodeReport report = report_();
    const Status beaten = co_await beat(report);
    log_failure(beaten);
    if (on_beat_) on_beat_(beaten);
    // What is to be told soon: that the daemon is ready after all.
    const bool settled = beaten.ok() && report.trouble.empty();
    unsettled = settled ? 0 : unsettled + 1;
    const Status rested = co_await rest(settled ? options_.interval : retry_after(unsettled - 1));
    if (!rested) co_return;
  }
}

// All nodes lose an API server at the same instant, and are not to come back at one.
std::chrono::nanoseconds Heartbeat::retry_after(unsigned failures) {
  const kube::BackoffOptions backoff{options_.shortest, options_.interval};
  return random_.jittered(kube::backoff_delay(backoff, failures)) / 2;
}

void Heartbeat::beat_soon() {
  soon_ = true;
  hurried_.notify_all();
}

Task<Status> Heartbeat::rest(std::chrono::nanoseconds pause) {
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    const auto until = begun + (soon_ ? std::min(pause, options_.shortest) : pause);
    if (std::chrono::steady_clock::now() >= until) co_return Status();
    const Status waited = co_await hurried_.wait(until);
    if (!waited) co_return waited;
  }
}

Task<Status> Heartbeat::beat(const NodeReport& report) {
  if (next_ == Next::kRead) {
    const auto read = co_await lease_.read();
    if (!read && read.error().code() != ErrorCode::kNotFound) co_return read.error();
    known_ = read ? *read : kube::Lease{};
    next_ = read ? Next::kUpdate : Next::kCreate;
    if (read) see(known_);
    if (auto alone = options_.gives_way ? check_rival() : Status(); !alone) {
      next_ = Next::kRead;
      co_return alone;
    }
  }
  kube::Lease lease = known_;
  write_heartbeat(options_.owner, report, clock_.wall(), lease);
  Result<kube::Lease> written = kube::cancelled_error();
  if (next_ == Next::kCreate)
    written = co_await lease_.create(lease);
  else
    written = co_await lease_.update(lease);
  next_ = written ? Next::kUpdate : Next::kRead;
  if (!written) co_return written.error();
  known_ = *written;
  see(known_);
  co_return Status();
}

// An object's versions only rise, also of one that was deleted and made again.
void Heartbeat::see(const kube::Lease& lease) {
  const kube::ObjectVersion version(lease.resource_version);
  const bool older = version_.newer_than(version);
  version_ = version;
  if (older && on_put_back_) on_put_back_();
}

// A clone of this host, or one that was set up anew, may have the Node's name. By what changes
// here, and by its clock where that says that it is long gone: whoever is wrong about it is told by
// the other's next beat.
Status Heartbeat::check_rival() {
  const bool alone = known_.holder.empty() || known_.holder == options_.owner.holder;
  if (alone || !known_.renewed) return {};
  if (rival_renewed_ != known_.renewed) {
    rival_renewed_ = known_.renewed;
    rival_seen_ = clock_.now();
  }
  const bool silent = clock_.now() - rival_seen_ >= kHeartbeatDuration ||
                      clock_.wall() - *known_.renewed >= kHeartbeatDuration;
  if (silent) return {};
  return Error(
      ErrorCode::kBusy,
      concat("another host beats for Node ", options_.owner.node, " (",
             printable(known_.holder, 80), "): nothing is done here until it has been silent for ",
             std::chrono::duration_cast<std::chrono::seconds>(kHeartbeatDuration).count(),
             " s; two hosts must not have one Node's name"));
}

// By its code: the texts of a read and of a write that find no server differ.
void Heartbeat::log_failure(const Status& beaten) {
  if (beaten) return logged_.reset();
  const ErrorCode code = beaten.error().code();
  // There is one already, or somebody changed it: it is read at once.
  if (code == ErrorCode::kExists || code == ErrorCode::kConflict || code == ErrorCode::kCancelled ||
      code == logged_)
    return;
  logged_ = code;
  log_.warning("the node's Lease could not be renewed",
               {{"lease", lease_.name()}, {"error", beaten.error().message()}});
}

}  // namespace flexlocal::provisioner
