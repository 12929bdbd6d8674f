// How long to wait before the next try.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace flexlocal::kube {

struct BackoffOptions {
  // The first wait; every further one is twice as long. client-go's queues use 5 ms and 1000 s.
  std::chrono::nanoseconds base = std::chrono::milliseconds(5);
  // No wait is longer, jitter not counted.
  std::chrono::nanoseconds most = std::chrono::seconds(1000);
};

// base x 2^failures, at most `most`; never overflows.
inline std::chrono::nanoseconds backoff_delay(const BackoffOptions& options, unsigned failures) {
  std::chrono::nanoseconds delay = options.base;
  for (unsigned i = 0; i < failures && delay < options.most; ++i)
    delay = delay > options.most / 2 ? options.most : delay * 2;
  return std::min(delay, options.most);
}

// Seeded by its owner, so that a test can repeat what it saw.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // In [0, 1).
  double unit() { return std::generate_canonical<double, 53>(engine_); }
  // `time` to twice `time`: spreads clients that failed at the same instant.
  std::chrono::nanoseconds jittered(std::chrono::nanoseconds time) {
    const double extra = static_cast<double>(time.count()) * unit();
    return time + std::chrono::nanoseconds(static_cast<std::int64_t>(extra));
  }

 private:
  std::mt19937_64 engine_;
};

// Counts failures in a row and says how long to wait after each.
class Backoff {
 public:
  explicit Backoff(BackoffOptions options) : options_(options) {}
  std::chrono::nanoseconds next(Random& random) {
    return random.jittered(backoff_delay(options_, failures_++));
  }
  void reset() { failures_ = 0; }
  unsigned failures() const { return failures_; }

 private:
  BackoffOptions options_;
  unsigned failures_ = 0;
};

}  // namespace flexlocal::kube
