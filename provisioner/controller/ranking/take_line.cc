#include "provisioner/controller/ranking/take_line.h"

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
  if (first) admit_next();
}

void TakeLine::begin() {
  taking_ = true;
  begun_ = clock_.now();
  own_ = std::max<std::size_t>(line_.size(), 1);
}

void TakeLine::end(const std::string& claim, std::size_t waiting, std::size_t nodes) {
  const auto now = clock_.now();
  const auto each = std::max(time_to_take(1, nodes), (now - begun_) / kAtOnce);
  const auto all = each * static_cast<std::int64_t>(std::max(waiting, own_));
  next_ = now + std::min(all / static_cast<std::int64_t>(own_), most_between(nodes));
  taking_ = false;
  erase(claim);
  admit_next();
}

void TakeLine::erase(const std::string& claim) {
  const auto found = due_.find(claim);
  if (found == due_.end()) return;
  line_.erase({found->second, claim});
  due_.erase(found);
}

void TakeLine::admit_next() {
  if (!taking_ && !line_.empty()) admit_(line_.begin()->second, pause());
}

std::chrono::nanoseconds TakeLine::pause() const {
  return std::max<std::chrono::nanoseconds>(next_ - clock_.now(), {});
}

}  // namespace flexlocal::provisioner
