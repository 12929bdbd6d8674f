// What can be counted: single values, without names. What they are called is metrics.h's business.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace flexlocal::kube {

// All of them belong to the event loop's one thread; counting is an addition and nothing else.

class Counter {
 public:
  // What is not more than zero is not counted: a counter never falls.
  void add(double more = 1) {
    if (more > 0) value_ += more;
  }
  double value() const { return value_; }
  Counter& operator+=(const Counter& other) {
    value_ += other.value_;
    return *this;
  }

 private:
  double value_ = 0;
};

class Gauge {
 public:
  void set(double value) { value_ = value; }
  void add(double more) { value_ += more; }
  double value() const { return value_; }
  Gauge& operator+=(const Gauge& other) {
    value_ += other.value_;
    return *this;
  }

 private:
  double value_ = 0;
};

// Durations, in seconds. All histograms have the same bounds, so that they can be added up: from
// what an answer of the API server takes to the wiping of a large volume.
class Histogram {
 public:
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,   0.25,  0.5,
                                         1.0,   2.5,    5.0,   10.0, 30.0,  60.0, 300.0, 3600.0};

  void observe(std::chrono::nanoseconds time);

  // How many observations were at most kBounds[i], without those at most kBounds[i - 1]; the last
  // of them has no bound.
  const std::array<std::uint64_t, kBounds.size() + 1>& buckets() const { return buckets_; }
  double sum() const { return sum_; }
  Histogram& operator+=(const Histogram& other);

 private:
  std::array<std::uint64_t, kBounds.size() + 1> buckets_{};
  double sum_ = 0;
};

}  // namespace flexlocal::kube
