// Which nodes could not have the volume of a claim: they are passed over for a while, for whatever
// made them refuse may be over then.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "flexvolume/base/clock.h"

namespace flexlocal::provisioner {

class RefusedNodes {
 public:
  static constexpr std::chrono::seconds kPause{30};

  explicit RefusedNodes(const Clock& clock) : clock_(clock) {}

  void add(const std::string& claim, const std::string& node) {
    refused_[claim][node] = clock_.now();
  }
  bool has(const std::string& claim, const std::string& node) const {
    const auto nodes = refused_.find(claim);
    if (nodes == refused_.end()) return false;
    const auto refused = nodes->second.find(node);
    return refused != nodes->second.end() && clock_.now() - refused->second < kPause;
  }
  void forget(const std::string& claim) { refused_.erase(claim); }
  // All claims but those that `is_there` says of.
  template <typename IsThere>
  void forget_unless(IsThere is_there) {
    std::erase_if(refused_, [&](const auto& entry) { return !is_there(entry.first); });
  }

 private:
  const Clock& clock_;
  std::map<std::string, std::map<std::string, Clock::Instant>> refused_;  // by claim and node
};

}  // namespace flexlocal::provisioner
