// What a condition variable is to threads, for the tasks of one thread.
#pragma once

#include <list>
#include <memory>

#include "provisioner/kube/async.h"

namespace flexlocal::kube {

class Condition {
 public:
  Condition() : waiters_(std::make_shared<Waiters>()) {}
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  // Ends when notified, or at `until` (success as well: the caller looks at its own state again),
  // or with kCancelled. A notification is not remembered: only those who wait now get it.
  Task<Status> wait(Clock::Instant until = Clock::Instant::max());

  // Wakes the task that has waited longest, or all. They go on later, never inside this call.
  void notify_one();
  void notify_all();

 private:
  // Shared with the waiting tasks: whichever of them and the condition dies first.
  using Waiters = std::list<asio::steady_timer*>;
  std::shared_ptr<Waiters> waiters_;
};

}  // namespace flexlocal::kube
