// The way to the API server for what only the leader may do: shut when leading has ended.
#pragma once

#include "provisioner/kube/http.h"

namespace flexlocal::kube {

// Looks at the time at the moment of sending, behind every queue and pause: a process that was
// stopped for a minute sends nothing afterwards that it had decided before. What changes something
// must also be answered within the term, and is given up at its end.
//
// A gap is left that no client can close: a process may be stopped between the look and the
// system call. So whoever writes through the gate still names the version that it decided on.
class LeaderGate final : public Http {
 public:
  LeaderGate(Http& http, const Clock& clock) : http_(http), clock_(clock) {}

  // By the clock of the constructor. Until it is opened the first time it is shut.
  void open_until(Clock::Instant until) { until_ = until; }
  void shut() { until_ = Clock::Instant::min(); }
  bool is_open() const { return clock_.now() < until_; }

  // As Http's; kCancelled when the gate is shut.
  Task<Result<HttpResponse>> send(const HttpRequest& request) override;
  Task<Result<HttpResponse>> stream(const HttpRequest& request, ByteSink& sink) override;

 private:
  Http& http_;
  const Clock& clock_;
  Clock::Instant until_{Clock::Instant::min()};
};

}  // namespace flexlocal::kube
