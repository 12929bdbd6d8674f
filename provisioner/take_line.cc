#include "provisioner/take_line.h"

#include <algorithm>

namespace flexlocal::provisioner {

std::optional<std::chrono::nanoseconds> TakeLine::enter(const std::string& claim,
                                                        Clock::Instant due) {
  erase(claim);
  line_.emplace(due, claim);
  due_[claim] = due;
  if (taking_ || line_.begin()->second != claim) return std::nullopt;
  return pause();
}

void TakeLine::leave(const std::string& claim) {
  const bool first = !line_.empty() && line_.begin()->second == claim;
  erase(claim);
  if (first) let_next();
}

void TakeLine::begin() {
  taking_ = true;
  own_ = std::max<std::size_t>(line_.size(), 1);
}

void TakeLine::end(const std::string& claim, std::size_t waiting, std::size_t nodes) {
  const auto between =
      time_to_take(std::max(waiting, own_), nodes) / static_cast<std::int64_t>(own_);
  next_ = clock_.now() + std::min<std::chrono::nanoseconds>(between, kMostBetween);
  taking_ = false;
  erase(claim);
  let_next();
}

void TakeLine::erase(const std::string& claim) {
  const auto found = due_.find(claim);
  if (found == due_.end()) return;
  line_.erase({found->second, claim});
  due_.erase(found);
}

void TakeLine::let_next() {
  if (!taking_ && !line_.empty()) let_(line_.begin()->second, pause());
}

std::chrono::nanoseconds TakeLine::pause() const {
  return std::max<std::chrono::nanoseconds>(next_ - clock_.now(), {});
}

}  // namespace flexlocal::provisioner
