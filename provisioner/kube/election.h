// Leader election by a Lease: the decisions of one candidate, without any I/O.
// Source: k8s.io/client-go/tools/leaderelection/leaderelection.go
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "provisioner/kube/backoff.h"
#include "provisioner/kube/lease.h"
#include "provisioner/kube/version.h"

namespace flexlocal::kube {

struct ElectionOptions {
  std::string identity;  // of this process, and of no other that ever was
  // How long the others wait, from the moment in which they saw the last renewal.
  std::chrono::milliseconds lease_duration = std::chrono::seconds(15);
  // How long the leader leads, from the moment in which it began to ask for the last renewal.
  std::chrono::milliseconds renew_deadline = std::chrono::seconds(10);
  // Between two tries; candidates wait up to twice as long, at random.
  std::chrono::milliseconds retry_period = std::chrono::seconds(2);
  std::uint64_t seed = 0;  // of the jitter; 0: a random one
};

// kInvalid, in words, unless 1 s to 1 h > renew deadline > 1.2 retry periods.
Status validate(const ElectionOptions& options);

// No time of day is ever compared: each candidate goes by its own monotonic clock, by which it sees
// the record change. A leader counts from before its request was sent, the others from after they
// saw it carried out, and they wait longer: so an old leader has ended before a new one begins,
// whatever the delays, pauses and times of day, as long as the clocks run about equally fast (here
// they may differ by a third).
//
// A Lease that is deleted under its leader is not taken before the time either, except by a
// candidate that never saw it held.
class Election {
 public:
  using Instant = Clock::Instant;

  explicit Election(ElectionOptions options);

  struct Step {
    enum class Kind { kWait, kRead, kCreate, kUpdate };
    Kind kind = Kind::kWait;
    Instant until{};  // of kWait
    Lease lease{};    // of kCreate and kUpdate: to be written
  };

  // What to do now. What came of it is told by one of the calls below, then next() is asked again.
  // `wall` is only written down, for people.
  Step next(Instant now, Clock::Wall wall);

  void read(const Lease& lease, Instant now);
  void missing();
  void written(const Lease& answer, Instant now);
  void failed(const Error& error, Instant now);

  // The leader's right to act, which ends by itself at leads_until(). Once it has ended it does
  // not come back by a late answer, only by a new term.
  bool leads(Instant now) const { return now < leads_until_; }
  Instant leads_until() const { return leads_until_; }

  // Whether, since this was asked last, the Lease was seen at an older version than before: the API
  // server was put back to an earlier state, by a restore of etcd. A term that sees it ends.
  bool take_put_back() { return std::exchange(put_back_, false); }

  // The end of leading, by one's own will: the Lease as it is to be written, so that nobody has to
  // wait; nullopt when it is not known to be ours.
  std::optional<Lease> release(Instant now, Clock::Wall wall);

  // Who held the Lease when it was last seen; empty: nobody.
  std::string_view holder() const {
    return observed_ ? std::string_view(observed_->holder) : std::string_view();
  }

 private:
  bool may_take(Instant now) const;
  Step write(Instant now, Clock::Wall wall);
  void observe(const Lease& lease, Instant now);
  bool is_put_back(const Lease& lease);

  ElectionOptions options_;
  Random random_;
  bool fresh_ = false;             // known_ is what the server has, as far as we know
  std::optional<Lease> known_;     // nullopt with fresh_: there is none
  std::optional<Lease> observed_;  // the last record seen
  Instant observed_at_{};          // when it was seen for the first time
  Instant began_{};                // the write under way
  bool renews_ = false;            // it continues a term
  ObjectVersion version_;          // of the last record seen
  bool put_back_ = false;
  Instant not_before_{};  // no request before
  Instant leads_until_{Instant::min()};
};

}  // namespace flexlocal::kube
