#include "provisioner/controller/ranking/immediate_rank.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// The same on every machine and in every version of this program, or nodes would disagree:
// SipHash-2-4 with a key that is no secret.
std::uint64_t hash_of(const std::string& text) {
  constexpr std::array<unsigned char, crypto_shorthash_KEYBYTES> kKey{};
  std::array<unsigned char, crypto_shorthash_BYTES> bytes{};
  ::crypto_shorthash(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     kKey.data());
  std::uint64_t hash = 0;
  for (const unsigned char byte : bytes) hash = hash << 8U | byte;
  return hash;
}

// Of claim and node together. Source: the finalizer of SplitMix64, Steele et al., Fast Splittable
// Pseudorandom Number Generators (OOPSLA 2014)
std::uint64_t mix(std::uint64_t bits) {
  bits = (bits ^ bits >> 30U) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ bits >> 27U) * 0x94d049bb133111ebULL;
  return bits ^ bits >> 31U;
}

// In (0, 1), without its ends: 52 bits and a half are what a double holds exactly.
double draw(std::uint64_t claim, NodeHash node) {
  const std::uint64_t hash = mix(claim ^ static_cast<std::uint64_t>(node));
  return (static_cast<double>(hash >> 12U) + 0.5) / static_cast<double>(1ULL << 52U);
}

// Rooms are rounded down to a power of two: this is its exponent.
unsigned weight_of(Bytes room) { return static_cast<unsigned>(std::bit_width(room.count())) - 1; }

// What a node of each weight must draw to have more than a score: exp(-weight / score). So a
// logarithm is taken once, not for each node.
class Bar {
 public:
  Bar(unsigned weight, double drawn) : of_score_(std::log(drawn) / std::exp2(weight)) {}

  double at(unsigned weight) {
    double& least = least_.at(weight);
    if (least < 0) least = std::exp(std::exp2(weight) * of_score_);
    return least;
  }

 private:
  double of_score_;  // -1 / score
  std::array<double, 64> least_ = unknown();

  static std::array<double, 64> unknown() {
    std::array<double, 64> all{};
    all.fill(-1);
    return all;
  }
};

}  // namespace

void RankPause::observe(std::chrono::nanoseconds waited, Clock::Instant now) {
  if (!is_news(waited, now)) return;
  observed_ = waited;
  when_ = now;
}

std::chrono::nanoseconds RankPause::at(Clock::Instant now) const {
  return std::max<std::chrono::nanoseconds>(kRankPause, of_observed(now));
}

std::chrono::nanoseconds RankPause::of_observed(Clock::Instant now) const {
  const std::chrono::duration<double> since = now - when_;
  const double left = std::exp2(-since / std::chrono::duration<double>(kForget));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(2 * left * observed_);
}

NodeHash hash_of_node(const std::string& name) { return NodeHash{hash_of(name)}; }

std::optional<std::size_t> rank_of(const RankCandidate& node, const std::vector<RankCandidate>& all,
                                   const std::string& claim_uid, Bytes size, std::size_t enough) {
  const auto has_room = [&](const RankCandidate& candidate) {
    return candidate.room >= size && candidate.room != Bytes(0);
  };
  if (!has_room(node)) return std::nullopt;
  const std::uint64_t claim = hash_of(claim_uid);
  const unsigned own_weight = weight_of(node.room);
  const double own_draw = draw(claim, node.node);
  Bar bar(own_weight, own_draw);
  std::size_t before = 0;
  for (const RankCandidate& other : all) {
    if (before >= enough) break;
    if (other.node == node.node || !has_room(other)) continue;
    const unsigned weight = weight_of(other.room);
    const double drawn = draw(claim, other.node);
    const double least = weight == own_weight ? own_draw : bar.at(weight);
    if (drawn != least ? drawn > least : other.node < node.node) ++before;
  }
  return before;
}

}  // namespace flexlocal::provisioner
