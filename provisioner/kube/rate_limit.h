// A token bucket, as client-go's flowcontrol has it.
#pragma once

#include <algorithm>
#include <chrono>

#include "flexvolume/base/clock.h"

namespace flexlocal::kube {

struct RateLimit {
  double per_second = 0;  // 0: no limit
  double burst = 1;       // how many may go at once after a pause
};

class TokenBucket {
 public:
  explicit TokenBucket(RateLimit limit) : limit_(limit), tokens_(limit.burst) {}

  // Takes one token, on credit if need be, and says how long to wait until it is really there.
  // Callers are served in the order of their calls.
  std::chrono::nanoseconds take(Clock::Instant now) {
    if (limit_.per_second <= 0) return {};
    const std::chrono::duration<double> passed = now - filled_;
    tokens_ = std::min(limit_.burst, tokens_ + std::max(passed.count(), 0.0) * limit_.per_second);
    filled_ = std::max(filled_, now);
    tokens_ -= 1;
    if (tokens_ >= 0) return {};
    return std::chrono::nanoseconds(
        static_cast<std::chrono::nanoseconds::rep>(-tokens_ / limit_.per_second * 1e9));
  }

 private:
  RateLimit limit_;
  double tokens_;
  Clock::Instant filled_{};
};

}  // namespace flexlocal::kube
