// Whether a node has said which copies it has that no order names: a pure decision.
//
// An API server that was put back to an earlier state does not know of all volumes there are. What
// a claim waits for may be on a disk already, and an empty volume must not take its place: before a
// leader orders anything new, it has heard all nodes.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace flexlocal::provisioner {

// For so long a daemon that runs may look for its disks before it is passed over.
inline constexpr std::chrono::seconds kRollPatience{60};

// A node that has a daemon, or had one.
struct RollEntry {
  bool runs = false;        // its daemon gives signs of life
  bool has_beaten = false;  // since the leader's lists were complete
  bool excused = false;     // a person said not to wait for it
  bool tells = false;       // its last beat told what it has
  bool agrees = false;      // by that it saw the VolumeCopies that the API server has for it, and
                            // named all that none of them names
};

// What is known of the API server.
struct RollState {
  // It was put back, as far as anything shows: then a node that is silent is waited for as well.
  bool put_back = false;
  std::chrono::nanoseconds waited{0};  // since the lists were complete
};

// Why the node is waited for, in words that follow its name; nullopt: it is not.
std::optional<std::string> missing_in_roll(const RollEntry& entry, const RollState& state);

}  // namespace flexlocal::provisioner
