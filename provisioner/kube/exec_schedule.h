// When a credential program is run: the decision, free of I/O.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "flexvolume/base/clock.h"
#include "provisioner/kube/backoff.h"

namespace flexlocal::kube {

struct ExecScheduleOptions {
  // Between two runs: the first at least, and twice as long each time until the server has taken
  // what was given out. A program that asks a cloud for a token must not be run in a loop.
  BackoffOptions pause{std::chrono::seconds(1), std::chrono::minutes(1)};
  // A credential is renewed so long before it expires, or at the last quarter of a short life: time
  // for some tries, and for the requests that are on their way.
  std::chrono::nanoseconds early = std::chrono::minutes(1);
};

class ExecSchedule {
 public:
  using Instant = Clock::Instant;

  ExecSchedule(ExecScheduleOptions options, std::uint64_t seed)
      : options_(options), pause_(options.pause), random_(seed) {}

  // Whether to run the program now; whoever does says began(), and then succeeded() or failed().
  bool is_due(Instant now) const {
    return !running_ && now >= not_before_ && (!has_ || refused_ || now >= renew_at_);
  }
  // Whether a request waits for the program that runs, rather than go out with what there is.
  bool is_worth_waiting(Instant now) const { return running_ && (refused_ || !is_usable(now)); }
  bool is_usable(Instant now) const { return has_ && now < expires_at_; }

  void began() { running_ = true; }

  // `lifetime`: until it expires, more than zero; nothing: it is used until the server refuses it.
  void succeeded(Instant now, std::optional<std::chrono::nanoseconds> lifetime) {
    ended(now);
    has_ = true;
    refused_ = false;
    is_proven_ = false;
    expires_at_ = lifetime ? now + *lifetime : Instant::max();
    renew_at_ = lifetime ? expires_at_ - std::min(options_.early, *lifetime / 4) : Instant::max();
  }
  void failed(Instant now) { ended(now); }

  // The server's word on the credential that was given out last.
  void refused() { refused_ = true; }
  void accepted() {
    if (std::exchange(is_proven_, true)) return;
    pause_.reset();
  }

 private:
  void ended(Instant now) {
    running_ = false;
    not_before_ = now + pause_.next(random_);
  }

  ExecScheduleOptions options_;
  Backoff pause_;
  Random random_;
  bool running_ = false;
  bool has_ = false;
  bool refused_ = false;
  bool is_proven_ = false;  // the server has taken it
  Instant not_before_ = Instant::min();
  Instant renew_at_{};
  Instant expires_at_{};
};

}  // namespace flexlocal::kube
