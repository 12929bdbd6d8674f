// Who takes a claim with volumeBindingMode Immediate when the nodes settle that among themselves: a
// pure decision, which every node's daemon comes to by itself and all come to alike.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/clock.h"

namespace flexlocal::provisioner {

// How long each node waits for the one before it in rank, when all are quick. An API server tells
// all of them of a claim, one after the other: with many, more time is between the first and the
// last that it tells.
inline constexpr std::chrono::seconds kRankPause{5};
inline constexpr std::chrono::milliseconds kRankPausePerNode{15};
constexpr std::chrono::nanoseconds least_rank_pause(std::size_t nodes) {
  return std::max<std::chrono::nanoseconds>(kRankPause,
                                            kRankPausePerNode * static_cast<std::int64_t>(nodes));
}

// The same as things go: in a burst of claims, or where the API server is slow, those that are
// first take long, and waiting for them is no sign that they are gone. So it is twice what they
// took of late, if that is more. What is not seen again is forgotten by half every kForget, little
// by little: else all nodes would step in at once when a burst is over.
class RankPause {
 public:
  static constexpr std::chrono::seconds kForget{10};

  // Whether that would change anything: what it takes to know who is first may be spared.
  bool is_news(std::chrono::nanoseconds waited, Clock::Instant now) const {
    return 2 * waited > at(now);
  }
  // The node that is first for a claim took it so long after this one saw that it waits.
  void observe(std::chrono::nanoseconds waited, Clock::Instant now);
  std::chrono::nanoseconds at(Clock::Instant now) const;

 private:
  std::chrono::nanoseconds of_observed(Clock::Instant now) const;

  std::chrono::nanoseconds observed_{};
  Clock::Instant when_{};
};

// What is hashed of a node's name: once for a list of nodes, not once more for each claim.
enum class NodeHash : std::uint64_t {};
NodeHash hash_of_node(const std::string& name);

// A node, and the largest volume of the claim's class that it says it can make.
struct RankCandidate {
  NodeHash node;
  Bytes room;
};

// How many of `all` with room for `size` are before this node, in whatever order they are given:
// weighted rendezvous hashing, so that each is first for a share of the claims that is as its room
// is to that of all, and a node that comes or goes changes only the claims that it is or was first
// for. Each has a score of -room / ln(u), u drawn from (0, 1) by a hash of claim and node. `all`
// may hold the node itself: what `node` says of it counts. nullopt: the node has no room. Every
// node asks for each claim, so nothing is sorted, and none is counted when `enough` have been.
// Source: Schindelhauer and Schomaker, Weighted Distributed Hash Tables (SPAA 2005)
std::optional<std::size_t> rank_of(const RankCandidate& node, const std::vector<RankCandidate>& all,
                                   const std::string& claim_uid, Bytes size,
                                   std::size_t enough = std::numeric_limits<std::size_t>::max());

}  // namespace flexlocal::provisioner
