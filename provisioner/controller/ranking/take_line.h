// The Immediate claims whose turn it is for this node, by --immediate=rank: which one it takes
// next, and when. A claim that comes alone is taken at once. In a burst all nodes have some to
// take, and would send more than an API server can answer: watches would lag, and nodes step in for
// others that are merely slow. So each takes one after the other, and all together no more than one
// in time_to_take(), and no more than kAtOnce at a time. No I/O.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "flexvolume/base/clock.h"

namespace flexlocal::provisioner {

// For each claim, of all nodes together. kube-controller-manager takes longer to bind one: it asks
// for 20 writes a second at most unless it is told otherwise (--kube-api-qps), and a claim takes
// four.
inline constexpr std::chrono::milliseconds kTimeToTake{10};
// What an API server needs to tell a node of a claim's changes: it tells each node of each claim.
inline constexpr std::chrono::microseconds kTimeToTell{50};

// What `claims` take at that pace with so many nodes.
constexpr std::chrono::nanoseconds time_to_take(std::size_t claims, std::size_t nodes) {
  const std::chrono::nanoseconds told = kTimeToTell * static_cast<std::int64_t>(nodes);
  return std::max<std::chrono::nanoseconds>(kTimeToTake, told) * static_cast<std::int64_t>(claims);
}

// Between two that a node takes, at most. Claims for which no node has room wait for good, and must
// not keep others for long; nor must an API server that was slow a while ago.
constexpr std::chrono::nanoseconds most_between(std::size_t nodes) {
  return std::clamp<std::chrono::nanoseconds>(
      std::chrono::milliseconds(50) * static_cast<std::int64_t>(nodes), std::chrono::seconds(10),
      std::chrono::seconds(30));
}

class TakeLine {
 public:
  // Claims that are being taken at the same time, by all nodes together. An API server that has
  // more than it can do answers late, and a node that sees this takes the next one later.
  static constexpr std::int64_t kAtOnce = 12;

  // The claim is the next, and may be taken after so long.
  using Admit = std::function<void(const std::string& claim, std::chrono::nanoseconds after)>;

  TakeLine(const Clock& clock, Admit admit) : clock_(clock), admit_(std::move(admit)) {}

  // The claim's turn came at `due`; those go first whose turn came first. How long until it may be
  // taken; nullopt: others go first, and `admit` is called later.
  std::optional<std::chrono::nanoseconds> enter(const std::string& claim, Clock::Instant due);
  // It is not, or no longer, to be taken. One that is not in the line is no error.
  void leave(const std::string& claim);

  // Around the taking of the one that may be taken; it has left then. `waiting`: claims that wait
  // for any of so many nodes. Each node takes as many of those at a time as are its own of them
  // all, so that all end at the same time.
  void begin();
  void end(const std::string& claim, std::size_t waiting, std::size_t nodes);

 private:
  void erase(const std::string& claim);
  void admit_next();
  std::chrono::nanoseconds pause() const;

  const Clock& clock_;
  Admit admit_;
  std::set<std::pair<Clock::Instant, std::string>> line_;
  std::map<std::string, Clock::Instant> due_;  // by claim
  Clock::Instant next_{};                      // nothing is taken before
  bool taking_ = false;
  Clock::Instant begun_{};  // the taking
  std::size_t own_ = 0;     // in the line when the taking began
};

}  // namespace flexlocal::provisioner
