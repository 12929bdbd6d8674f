#include "provisioner/kube/election.h"

#include <algorithm>

namespace flexlocal::kube {
namespace {

// What tells a renewal, or another holder, from the same record read again.
bool same_record(const Lease& a, const Lease& b) {
  return a.holder == b.holder && a.renewed == b.renewed && a.acquired == b.acquired &&
         a.transitions == b.transitions && a.duration == b.duration;
}

bool lost_a_race(ErrorCode code) {
  return code == ErrorCode::kConflict || code == ErrorCode::kExists || code == ErrorCode::kNotFound;
}

}  // namespace

Status validate(const ElectionOptions& options) {
  if (options.lease_duration < std::chrono::seconds(1) || options.lease_duration > kLongestLease)
    return Error(ErrorCode::kInvalid, "--leader-election-lease-duration: accepted are 1s to 60m");
  if (options.lease_duration <= options.renew_deadline)
    return Error(ErrorCode::kInvalid,
                 "--leader-election-lease-duration must be longer than "
                 "--leader-election-renew-deadline");
  if (options.renew_deadline * 10 <= options.retry_period * 12)
    return Error(ErrorCode::kInvalid,
                 "--leader-election-renew-deadline must be longer than 1.2 times "
                 "--leader-election-retry-period");
  return {};
}

Election::Election(ElectionOptions options)
    : options_(std::move(options)),
      random_(options_.seed != 0 ? options_.seed : std::random_device()()) {}

Election::Step Election::next(Instant now, Clock::Wall wall) {
  if (now < not_before_) return {Step::Kind::kWait, not_before_, {}};
  if (!fresh_) return {Step::Kind::kRead, {}, {}};
  if (leads(now) || may_take(now)) return write(now, wall);
  fresh_ = false;
  not_before_ = now + random_.jittered(options_.retry_period);
  return {Step::Kind::kWait, not_before_, {}};
}

bool Election::may_take(Instant now) const {
  const std::optional<Lease>& record = known_ ? known_ : observed_;
  if (!record || record->holder.empty() || record->holder == options_.identity) return true;
  // The holder may have been told another duration than we.
  const std::chrono::nanoseconds own = options_.lease_duration;
  const std::chrono::nanoseconds theirs = record->duration;
  return now >= observed_at_ + std::max(own, theirs);
}

Election::Step Election::write(Instant now, Clock::Wall wall) {
  began_ = now;
  renews_ = leads(now);
  Lease lease = known_.value_or(Lease{});
  if (lease.holder != options_.identity) {
    if (known_) ++lease.transitions;
    lease.holder = options_.identity;
    lease.acquired = wall;
    lease.renewed = wall;
  } else {
    lease.renewed = next_renewal(lease, wall);
  }
  lease.duration = std::chrono::ceil<std::chrono::seconds>(options_.lease_duration);
  return {known_ ? Step::Kind::kUpdate : Step::Kind::kCreate, {}, std::move(lease)};
}

void Election::read(const Lease& lease, Instant now) {
  fresh_ = true;
  known_ = lease;
  observe(lease, now);
  if (is_put_back(lease) || lease.holder != options_.identity)
    leads_until_ = std::min(leads_until_, now);
}

// An object's versions only rise, also of one that was deleted and made again.
bool Election::is_put_back(const Lease& lease) {
  const ObjectVersion version(lease.resource_version);
  const bool older = version_.newer_than(version);
  version_ = version;
  put_back_ = put_back_ || older;
  return older;
}

void Election::missing() {
  fresh_ = true;
  known_.reset();
}

void Election::written(const Lease& answer, Instant now) {
  if (answer.holder != options_.identity) return read(answer, now);
  fresh_ = true;
  known_ = answer;
  observe(answer, now);
  if (is_put_back(answer)) {
    leads_until_ = std::min(leads_until_, now);
    return;
  }
  not_before_ = began_ + options_.retry_period;
  // A renewal that took too long does not bring the term back: its work has been stopped.
  const bool term_is_over = renews_ && !leads(now);
  if (!term_is_over) leads_until_ = began_ + options_.renew_deadline;
}

void Election::failed(const Error& error, Instant now) {
  // Whatever failed may have been carried out all the same.
  fresh_ = false;
  const std::chrono::nanoseconds retry = options_.retry_period;
  if (!leads(now))
    not_before_ = now + random_.jittered(retry);
  else
    not_before_ = now + (lost_a_race(error.code()) ? retry / 10 : retry);
}

std::optional<Lease> Election::release(Instant now, Clock::Wall wall) {
  leads_until_ = std::min(leads_until_, now);
  if (!fresh_ || !known_ || known_->holder != options_.identity) return std::nullopt;
  fresh_ = false;
  Lease lease = *known_;
  lease.holder.clear();
  lease.renewed = next_renewal(lease, wall);
  lease.duration = std::chrono::seconds(1);
  return lease;
}

void Election::observe(const Lease& lease, Instant now) {
  if (observed_ && same_record(*observed_, lease)) return;
  observed_ = lease;
  observed_at_ = now;
}

}  // namespace flexlocal::kube
