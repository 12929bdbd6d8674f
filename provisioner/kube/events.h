// Events on objects, for people: `kubectl describe` shows them.
#pragma once

#include <deque>

#include "flexvolume/base/log.h"
#include "provisioner/kube/api.h"
#include "provisioner/kube/condition.h"
#include "provisioner/kube/event_correlator.h"

namespace flexlocal::kube {

// Events are written behind the caller's back, in order: record() never waits and never fails.
// At most kMostWaiting wait; what is over that is dropped. A write that fails is logged once and
// dropped: an event is a courtesy, never a reason to fail.
class EventRecorder {
 public:
  static constexpr std::size_t kMostWaiting = 1000;

  EventRecorder(ApiClient& api, const Clock& clock, Log& log, EventSource source)
      : api_(api), clock_(clock), log_(log), correlator_(std::move(source)) {}

  void record(EventNote note);

  // Writes events until its task is told to stop, or until all are written after shut_down().
  Task<void> run();
  void shut_down();

 private:
  Task<Status> write(const EventNote& note);
  Task<Status> carry_out(const EventWrite& planned);

  ApiClient& api_;
  const Clock& clock_;
  Log& log_;
  EventCorrelator correlator_;
  std::deque<EventNote> waiting_;
  Condition changed_;
  bool shut_down_ = false;
};

}  // namespace flexlocal::kube
