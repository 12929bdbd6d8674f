// How long a node, and its daemon, have been away: by what this process saw, and never by a time of
// day.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "flexvolume/base/clock.h"
#include "provisioner/objects/heartbeat_record.h"

namespace flexlocal::provisioner {

struct NodeHealth {
  bool exists = false;
  std::optional<std::chrono::nanoseconds> unready_for;     // nullopt: it is Ready
  bool has_lease = false;                                  // its daemon's
  std::chrono::nanoseconds silent_for{0};                  // since the Lease changed, or is missing
  std::chrono::nanoseconds patience = kHeartbeatDuration;  // as the Lease says
  bool confirmed = false;  // the API server was asked since, and has seen no beat either

  // What only the watch says: it may be the watch that is silent.
  bool seems_silent() const { return silent_for > patience && !confirmed; }
  bool is_silent() const { return silent_for > patience && confirmed; }
  bool daemon_runs() const { return has_lease && !is_silent(); }
};

// Whoever begins to look gives everyone the whole time once more: what a daemon or a node did
// before is not known.
class NodeObservations {
 public:
  using Instant = Clock::Instant;

  // What is true of a node and of its Lease now; nullopt: it is not there.
  void saw_node(const std::string& node, std::optional<bool> ready, Instant now);
  void saw_lease(const std::string& node, const NodeHeartbeat* beat, Instant now);
  // The API server was asked for the Lease, and what it said was seen. Holds until the Lease
  // changes.
  void confirm_silence(const std::string& node, Instant now);

  // Of a node that has neither Node nor Lease nothing is kept: claims may name any number of them.
  NodeHealth health(const std::string& node, Instant now) const;

 private:
  struct Seen {
    bool exists = false;
    bool ready = false;
    Instant unready_since{};
    std::optional<NodeHeartbeat> beat;
    Instant lease_changed{};
    bool confirmed = false;
  };
  Seen& entry(const std::string& node, Instant now);
  static void changed(Seen& seen, Instant now);
  void forget_absent(const std::string& node);

  std::map<std::string, Seen> seen_;
};

}  // namespace flexlocal::provisioner
