// A token bucket, as client-go's flowcontrol has it.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "flexvolume/base/clock.h"

namespace flexlocal::kube {

struct RateLimit {
  double per_second = 0;  // 0: no limit
  double burst = 1;       // how many may go at once after a pause
};

class TokenBucket {
 public:
  explicit TokenBucket(RateLimit limit) : limit_(limit), tokens_(limit.burst) {}

  // Takes one token, on credit if need be, and says how long to wait until it is really there:
  // callers are served in the order of their calls. nullopt, and nothing is taken, when that
  // would be longer than `most`: a client that is asked for too much must not fall ever further
  // behind.
  std::optional<std::chrono::nanoseconds> take(Clock::Instant now, std::chrono::nanoseconds most) {
    if (limit_.per_second <= 0) return std::chrono::nanoseconds(0);
    fill(now);
    const double missing = std::max(1 - tokens_, 0.0);
    const std::chrono::nanoseconds wait(
        static_cast<std::chrono::nanoseconds::rep>(missing / limit_.per_second * 1e9));
    if (wait > most) return std::nullopt;
    tokens_ -= 1;
    return wait;
  }

  // Whoever waits goes on waiting for as long as it was told.
  void lift() { limit_.per_second = 0; }
  RateLimit limit() const { return limit_; }

 private:
  void fill(Clock::Instant now) {
    const std::chrono::duration<double> passed = now - filled_;
    tokens_ = std::min(limit_.burst, tokens_ + std::max(passed.count(), 0.0) * limit_.per_second);
    filled_ = std::max(filled_, now);
  }

  RateLimit limit_;
  double tokens_;
  Clock::Instant filled_{};
};

}  // namespace flexlocal::kube
