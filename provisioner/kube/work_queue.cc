#include "provisioner/kube/work_queue.h"

#include <algorithm>

namespace flexlocal::kube {

std::string_view to_string(Priority priority) {
  switch (priority) {
    case Priority::kAwaited:
      return "awaited";
    case Priority::kNormal:
      return "normal";
    case Priority::kBackground:
      break;
  }
  return "background";
}

void WorkQueueCore::add(const std::string& key, Instant now, Priority priority) {
  if (shut_down_) return;
  const auto [found, is_new] = dirty_.try_emplace(key, Dirty{priority, now, std::nullopt});
  Dirty& entry = found->second;
  if (is_new) {
    if (!processing_.contains(key)) put_at_end(key, entry);  // else done() does it
    return;
  }
  if (priority <= entry.priority) return;
  if (entry.place) ready_[index(entry.priority)].erase(*entry.place);
  entry.priority = priority;
  if (entry.place) put_at_end(key, entry);
}

void WorkQueueCore::put_at_end(const std::string& key, Dirty& entry) {
  entry.place = ready_[index(entry.priority)].add(key);
}

void WorkQueueCore::add_at(const std::string& key, Instant when, Priority priority) {
  if (shut_down_) return;
  const auto [found, is_new] = due_.emplace(key, Due{when, priority});
  if (!is_new) {
    Due& due = found->second;
    due.priority = std::max(due.priority, priority);
    if (due.when <= when) return;
    order_.erase({due.when, key});
    due.when = when;
  }
  order_.emplace(when, key);
}

std::chrono::nanoseconds WorkQueueCore::next_delay(const std::string& key) {
  return backoff_delay(backoff_, failures_[key]++);
}

unsigned WorkQueueCore::failures(const std::string& key) const {
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

std::optional<WorkQueueCore::Job> WorkQueueCore::pop(Instant now) {
  move_due(now);
  const auto priority = next_priority();
  if (!priority) return std::nullopt;
  Job job{ready_[index(*priority)].take(), *priority, {}};
  const auto entry = dirty_.find(job.key);
  job.waited = now - entry->second.since;
  dirty_.erase(entry);
  processing_.emplace(job.key, Processing{*priority, now});
  if (*priority != Priority::kAwaited) ++others_;
  return job;
}

bool WorkQueueCore::may_hand_out(Priority priority) const {
  return ready(priority) != 0 && (priority == Priority::kAwaited || others_ < most_others_);
}

// The highest of a key that may be worked on now, or the lowest that was passed over often enough.
std::optional<Priority> WorkQueueCore::next_priority() {
  std::optional<Priority> next;
  for (std::size_t level = kPriorities; level-- > 0;) {
    const auto priority = static_cast<Priority>(level);
    if (may_hand_out(priority) && (!next || passed_over_[level] >= kMostInARow)) next = priority;
  }
  if (!next) return std::nullopt;
  for (std::size_t level = 0; level < kPriorities; ++level) {
    if (level == index(*next) || ready_[level].empty())
      passed_over_[level] = 0;
    else if (level < index(*next))
      ++passed_over_[level];
  }
  return next;
}

std::size_t WorkQueueCore::ready() const {
  std::size_t all = 0;
  for (const FlowQueue& keys : ready_) all += keys.size();
  return all;
}

std::chrono::nanoseconds WorkQueueCore::done(const std::string& key, Instant now) {
  const auto processed = processing_.find(key);
  if (processed == processing_.end()) return {};
  const auto worked = now - processed->second.since;
  if (processed->second.priority != Priority::kAwaited) --others_;
  processing_.erase(processed);
  if (const auto entry = dirty_.find(key); entry != dirty_.end()) put_at_end(key, entry->second);
  return worked;
}

Priority WorkQueueCore::priority_of(const std::string& key) const {
  const auto found = processing_.find(key);
  return found == processing_.end() ? Priority::kBackground : found->second.priority;
}

WorkQueueCore::Unfinished WorkQueueCore::unfinished(Instant now) const {
  Unfinished out;
  for (const auto& [key, processing] : processing_) {
    const std::chrono::nanoseconds so_far = now - processing.since;
    out.sum += so_far;
    out.longest = std::max(out.longest, so_far);
  }
  return out;
}

std::optional<WorkQueueCore::Instant> WorkQueueCore::next_due() const {
  if (order_.empty()) return std::nullopt;
  return order_.begin()->first;
}

void WorkQueueCore::shut_down() {
  shut_down_ = true;
  due_.clear();
  order_.clear();
}

// It has waited since it fell due, not since somebody looked.
void WorkQueueCore::move_due(Instant now) {
  while (!order_.empty() && order_.begin()->first <= now) {
    const auto [when, key] = *order_.begin();
    order_.erase(order_.begin());
    const auto due = due_.extract(key);
    add(key, when, due.mapped().priority);
  }
}

void WorkQueue::add(const std::string& key, Priority priority) {
  stats_.adds[static_cast<std::size_t>(priority)].add();
  core_.add(key, clock_.now(), priority);
  changed_.notify_one();
}

void WorkQueue::add_after(const std::string& key, std::chrono::nanoseconds delay) {
  add_after(key, delay, core_.priority_of(key));
}

void WorkQueue::add_after(const std::string& key, std::chrono::nanoseconds delay,
                          Priority priority) {
  if (delay <= std::chrono::nanoseconds(0)) return add(key, priority);
  stats_.retries.add();
  core_.add_at(key, clock_.now() + delay, priority);
  changed_.notify_one();  // the waiter's alarm may have to ring earlier
}

void WorkQueue::add_rate_limited(const std::string& key) {
  add_rate_limited(key, core_.priority_of(key));
}

void WorkQueue::add_rate_limited(const std::string& key, Priority priority) {
  add_after(key, random_.jittered(core_.next_delay(key)), priority);
}

Task<Result<std::string>> WorkQueue::get() {
  for (;;) {
    if (co_await is_cancelled()) break;
    if (auto job = core_.pop(clock_.now())) {
      stats_.waited[static_cast<std::size_t>(job->priority)].observe(job->waited);
      if (core_.has_ready()) changed_.notify_one();
      co_return std::move(job->key);
    }
    if (core_.is_shut_down()) co_return Error(ErrorCode::kCancelled, "the queue is shut down");
    const auto due = core_.next_due();
    const auto wait = due ? *due - clock_.now() : std::chrono::hours(24);
    const auto until = std::chrono::steady_clock::now() + wait;
    if (auto waited = co_await changed_.wait(until); !waited) break;
  }
  // What woke this task may have been meant for any: pass it on.
  changed_.notify_one();
  co_return cancelled_error();
}

void WorkQueue::done(const std::string& key) {
  stats_.worked.observe(core_.done(key, clock_.now()));
  if (core_.has_ready()) changed_.notify_one();
  if (core_.is_shut_down()) changed_.notify_all();
}

void WorkQueue::shut_down() {
  core_.shut_down();
  changed_.notify_all();
}

}  // namespace flexlocal::kube
