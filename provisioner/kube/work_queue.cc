#include "provisioner/kube/work_queue.h"

namespace flexlocal::kube {

void WorkQueueCore::add(const std::string& key) {
  if (shut_down_ || !dirty_.insert(key).second) return;
  if (!processing_.contains(key)) ready_.push_back(key);  // else done() does it
}

void WorkQueueCore::add_at(const std::string& key, Instant when) {
  if (shut_down_) return;
  const auto [found, is_new] = due_.emplace(key, when);
  if (!is_new) {
    if (found->second <= when) return;
    order_.erase({found->second, key});
    found->second = when;
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

std::optional<std::string> WorkQueueCore::pop(Instant now) {
  move_due(now);
  if (ready_.empty()) return std::nullopt;
  std::string key = std::move(ready_.front());
  ready_.pop_front();
  dirty_.erase(key);
  processing_.insert(key);
  return key;
}

void WorkQueueCore::done(const std::string& key) {
  if (processing_.erase(key) != 0 && dirty_.contains(key)) ready_.push_back(key);
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

void WorkQueueCore::move_due(Instant now) {
  while (!order_.empty() && order_.begin()->first <= now) {
    const std::string key = order_.begin()->second;
    order_.erase(order_.begin());
    due_.erase(key);
    add(key);
  }
}

void WorkQueue::add(const std::string& key) {
  core_.add(key);
  changed_.notify_one();
}

void WorkQueue::add_after(const std::string& key, std::chrono::nanoseconds delay) {
  if (delay <= std::chrono::nanoseconds(0)) return add(key);
  core_.add_at(key, clock_.now() + delay);
  changed_.notify_one();  // the waiter's alarm may have to ring earlier
}

void WorkQueue::add_rate_limited(const std::string& key) { add_after(key, core_.next_delay(key)); }

Task<Result<std::string>> WorkQueue::get() {
  for (;;) {
    if (co_await is_cancelled()) break;
    if (auto key = core_.pop(clock_.now())) {
      if (core_.has_ready()) changed_.notify_one();
      co_return std::move(*key);
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
  core_.done(key);
  if (core_.has_ready()) changed_.notify_one();
  if (core_.is_shut_down()) changed_.notify_all();
}

void WorkQueue::shut_down() {
  core_.shut_down();
  changed_.notify_all();
}

}  // namespace flexlocal::kube
