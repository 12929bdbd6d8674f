// The queue between informers and workers, with the guarantees of client-go's workqueue: a key is
// there once however often it is added (stingy), comes in the order of its first addition (fair),
// is worked on by one worker at a time, and comes once more when it was added meanwhile.
// Source: k8s.io/client-go/util/workqueue (queue.go, delaying_queue.go, default_rate_limiters.go)
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "provisioner/kube/backoff.h"
#include "provisioner/kube/condition.h"

namespace flexlocal::kube {

// The rules alone: no timers, no tasks; time comes in as an argument.
class WorkQueueCore {
 public:
  using Instant = Clock::Instant;

  explicit WorkQueueCore(BackoffOptions backoff) : backoff_(backoff) {}

  // Nothing is added after shut_down().
  void add(const std::string& key);
  // A key that already waits keeps the earlier of both times.
  void add_at(const std::string& key, Instant when);
  // How long `key` has to wait for its next try; every call doubles it until forget().
  std::chrono::nanoseconds next_delay(const std::string& key);
  void forget(const std::string& key) { failures_.erase(key); }
  unsigned failures(const std::string& key) const;

  // The next key to work on: from now on it is being processed, until done().
  std::optional<std::string> pop(Instant now);
  void done(const std::string& key);

  // When the earliest waiting key is due; nullopt: none waits.
  std::optional<Instant> next_due() const;
  bool has_ready() const { return !ready_.empty(); }
  std::size_t ready() const { return ready_.size(); }
  std::size_t waiting() const { return due_.size(); }

  void shut_down();
  bool is_shut_down() const { return shut_down_; }

 private:
  void move_due(Instant now);

  BackoffOptions backoff_;
  std::deque<std::string> ready_;
  std::unordered_set<std::string> dirty_;       // to be worked on, whether in ready_ or not yet
  std::unordered_set<std::string> processing_;  // handed out and not done
  std::unordered_map<std::string, Instant> due_;
  std::set<std::pair<Instant, std::string>> order_;  // due_ by time
  std::unordered_map<std::string, unsigned> failures_;
  bool shut_down_ = false;
};

// It must outlive the tasks that are in get(): shut it down, or stop them, and join them first.
class WorkQueue {
 public:
  WorkQueue(const Clock& clock, BackoffOptions backoff) : clock_(clock), core_(backoff) {}

  // Callable from anywhere on the one thread, informers' handlers included; never waits.
  void add(const std::string& key);
  void add_after(const std::string& key, std::chrono::nanoseconds delay);
  // Add again after the key's own back-off: base, 2 base, 4 base ... max. Until forget(key).
  void add_rate_limited(const std::string& key);
  void forget(const std::string& key) { core_.forget(key); }
  unsigned failures(const std::string& key) const { return core_.failures(key); }

  // The next key. Every key got must be given back with done(), whatever came of it.
  // kCancelled: the queue is shut down and empty, or the waiting task is told to stop.
  Task<Result<std::string>> get();
  void done(const std::string& key);

  // No additions from now on; delayed keys are dropped, ready ones are still handed out.
  void shut_down();

  std::size_t depth() const { return core_.ready(); }

 private:
  const Clock& clock_;
  WorkQueueCore core_;
  Condition changed_;
};

}  // namespace flexlocal::kube
