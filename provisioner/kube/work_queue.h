// The queue between informers and workers, with the guarantees of client-go's workqueue: a key is
// there once however often it is added (stingy), comes in the order of its first addition (fair),
// is worked on by one worker at a time, and comes once more when it was added meanwhile. Beyond
// those, what somebody waits for comes before what is only to be done at some time, and namespaces
// take turns: the order of addition holds within one (see FlowQueue).
// Source: k8s.io/client-go/util/workqueue (queue.go, delaying_queue.go, default_rate_limiters.go)
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "provisioner/kube/backoff.h"
#include "provisioner/kube/condition.h"
#include "provisioner/kube/flow_queue.h"
#include "provisioner/kube/metric_values.h"

namespace flexlocal::kube {

// A key has the highest priority that it was added with since it was last handed out.
enum class Priority {
  kBackground,  // resync, tidying, taking back: nobody waits
  kNormal,      // somebody waits, and it may take long
  kAwaited      // a pod does not start before it is done
};
inline constexpr std::size_t kPriorities = 3;

std::string_view to_string(Priority priority);

// The rules alone: no timers, no tasks; time comes in as an argument.
class WorkQueueCore {
 public:
  using Instant = Clock::Instant;

  // So often keys of a higher priority are handed out while one of a lower waits; then that one
  // comes, so that nothing is put off for ever.
  static constexpr unsigned kMostInARow = 16;

  // `most_others`: so many keys that are not awaited are worked on at once at most. Fewer than
  // there are workers, so that what is awaited does not wait until one of them is done.
  explicit WorkQueueCore(BackoffOptions backoff, std::size_t most_others = SIZE_MAX)
      : backoff_(backoff), most_others_(most_others) {}

  // Nothing is added after shut_down(). Within a priority and a flow keys come in the order of
  // their addition; one that waits and is added with a higher priority goes to the end of those.
  void add(const std::string& key, Instant now, Priority priority = Priority::kBackground);
  // A key that already waits keeps the earlier of both times, and the higher of both priorities.
  void add_at(const std::string& key, Instant when, Priority priority = Priority::kBackground);
  // How long `key` has to wait for its next try; every call doubles it until forget().
  std::chrono::nanoseconds next_delay(const std::string& key);
  void forget(const std::string& key) { failures_.erase(key); }
  unsigned failures(const std::string& key) const;

  // A key to work on: from now on it is being processed, until done().
  struct Job {
    std::string key;
    Priority priority;
    std::chrono::nanoseconds waited;  // since its addition, or since it fell due
  };
  // nullopt: nothing is ready, or nothing but what is not awaited, of which enough is worked on.
  std::optional<Job> pop(Instant now);
  // How long it was processed.
  std::chrono::nanoseconds done(const std::string& key, Instant now);
  // With which priority it was handed out; background when it is not being processed.
  Priority priority_of(const std::string& key) const;

  // When the earliest waiting key is due; nullopt: none waits.
  std::optional<Instant> next_due() const;
  bool has_ready() const { return ready() != 0; }
  std::size_t ready() const;
  std::size_t ready(Priority priority) const { return ready_[index(priority)].size(); }
  std::size_t waiting() const { return due_.size(); }
  // How long each key that is being processed has been so, added up; and the longest.
  struct Unfinished {
    std::chrono::nanoseconds sum{};
    std::chrono::nanoseconds longest{};
  };
  Unfinished unfinished(Instant now) const;

  void shut_down();
  bool is_shut_down() const { return shut_down_; }

 private:
  // A key that is to be worked on.
  struct Dirty {
    Priority priority;
    Instant since;
    std::optional<FlowQueue::Place> place;  // in ready_; nothing while it is processed
  };
  struct Processing {
    Priority priority;
    Instant since;
  };
  struct Due {
    Instant when;
    Priority priority;
  };

  bool may_hand_out(Priority priority) const;
  static std::size_t index(Priority priority) { return static_cast<std::size_t>(priority); }
  void put_at_end(const std::string& key, Dirty& entry);
  void move_due(Instant now);
  std::optional<Priority> next_priority();

  BackoffOptions backoff_;
  std::size_t most_others_;
  std::array<FlowQueue, kPriorities> ready_;
  std::unordered_map<std::string, Dirty> dirty_;
  std::unordered_map<std::string, Processing> processing_;  // handed out and not done
  std::unordered_map<std::string, Due> due_;
  std::set<std::pair<Instant, std::string>> order_;  // due_ by time
  std::unordered_map<std::string, unsigned> failures_;
  // How often keys of a higher priority were handed out since one of this waits.
  std::array<unsigned, kPriorities> passed_over_{};
  std::size_t others_ = 0;  // of processing_: those that are not awaited
  bool shut_down_ = false;
};

// What a queue has counted since its beginning.
struct WorkQueueStats {
  std::array<Counter, kPriorities> adds;  // also of a key that was there already
  Counter retries;
  std::array<Histogram, kPriorities> waited;  // from addition to being handed out
  Histogram worked;
};

// It must outlive the tasks that are in get(): shut it down, or stop them, and join them first.
class WorkQueue {
 public:
  WorkQueue(const Clock& clock, BackoffOptions backoff, std::size_t most_others = SIZE_MAX)
      : clock_(clock), core_(backoff, most_others) {}

  // Callable from anywhere on the one thread, informers' handlers included; never waits.
  void add(const std::string& key, Priority priority = Priority::kBackground);
  // A key that is being processed comes again with the priority that it was handed out with; any
  // other is background work.
  void add_after(const std::string& key, std::chrono::nanoseconds delay);
  void add_after(const std::string& key, std::chrono::nanoseconds delay, Priority priority);
  // Add again after the key's own back-off: base, 2 base, 4 base ... max, each with up to as much
  // again. Until forget(key).
  void add_rate_limited(const std::string& key);
  void add_rate_limited(const std::string& key, Priority priority);
  void forget(const std::string& key) { core_.forget(key); }
  unsigned failures(const std::string& key) const { return core_.failures(key); }
  // With which priority it was handed out; background when it is not being processed.
  Priority priority_of(const std::string& key) const { return core_.priority_of(key); }

  // The next key. Every key got must be given back with done(), whatever came of it.
  // kCancelled: the queue is shut down and empty, or the waiting task is told to stop.
  Task<Result<std::string>> get();
  void done(const std::string& key);

  // No additions from now on; delayed keys are dropped, ready ones are still handed out.
  void shut_down();

  std::size_t depth() const { return core_.ready(); }
  std::size_t depth(Priority priority) const { return core_.ready(priority); }
  const WorkQueueStats& stats() const { return stats_; }
  WorkQueueCore::Unfinished unfinished() const { return core_.unfinished(clock_.now()); }

 private:
  const Clock& clock_;
  WorkQueueCore core_;
  Random random_{std::random_device()()};
  WorkQueueStats stats_;
  Condition changed_;
};

}  // namespace flexlocal::kube
