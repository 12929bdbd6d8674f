// How many requests were sent, what came of them, and how long the answers took.
#pragma once

#include <array>
#include <vector>

#include "provisioner/kube/http.h"
#include "provisioner/kube/metric_values.h"

namespace flexlocal::kube {

class RequestStats {
 public:
  static constexpr std::size_t kMethods = 5;
  // More different answers are counted together, as kOtherStatus: a server may send any number.
  static constexpr std::size_t kMostCounts = 64;
  static constexpr int kNoAnswer = 0;
  static constexpr int kOtherStatus = -1;

  struct Count {
    Method method;
    int status;  // of HTTP, or one of the above
    Counter requests;
  };

  void count(Method method, int status);
  void took(Method method, std::chrono::nanoseconds time) { times_[index(method)].observe(time); }

  const std::vector<Count>& counts() const { return counts_; }
  const Histogram& times(Method method) const { return times_[index(method)]; }

 private:
  static std::size_t index(Method method) { return static_cast<std::size_t>(method); }

  std::vector<Count> counts_;  // few: looked through from the front
  std::array<Histogram, kMethods> times_;
};

}  // namespace flexlocal::kube
