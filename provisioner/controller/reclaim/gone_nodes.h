// Which nodes are gone for good, as far as that can be known: asked twice, with a long pause.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "flexvolume/base/clock.h"

namespace flexlocal::provisioner {

// A node that is registered anew within the grace was never gone. Only the API server's own "there
// is no such Node" counts, never a list that does not name it.
class GoneNodes {
 public:
  using Instant = Clock::Instant;

  explicit GoneNodes(std::chrono::nanoseconds grace) : grace_(grace) {}

  enum class Verdict {
    kAsk,   // the API server is to be asked now
    kWait,  // it said so once; the grace is not over
    kGone   // it said so twice
  };
  Verdict verdict(const std::string& node, Instant now) const;

  void answered_there(const std::string& node) { absent_.erase(node); }
  void answered_absent(const std::string& node, Instant now);

 private:
  struct Absence {
    Instant since;
    bool confirmed = false;
  };
  std::chrono::nanoseconds grace_;
  std::map<std::string, Absence> absent_;
};

}  // namespace flexlocal::provisioner
