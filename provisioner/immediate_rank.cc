#include "provisioner/immediate_rank.h"

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

// In (0, 1), without its ends: 52 bits and a half are what a double holds exactly.
double unit(std::uint64_t hash) {
  return (static_cast<double>(hash >> 12U) + 0.5) / static_cast<double>(1ULL << 52U);
}

double score(const RankCandidate& candidate, const std::string& claim_uid) {
  const double drawn = unit(hash_of(concat(claim_uid, '\n', candidate.node)));
  return -static_cast<double>(std::bit_floor(candidate.room.count())) / std::log(drawn);
}

}  // namespace

void RankPause::observe(std::chrono::nanoseconds waited, Clock::Instant now) {
  if (2 * waited < of_observed(now)) return;
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

std::optional<std::size_t> rank_of(const std::string& node,
                                   const std::vector<RankCandidate>& candidates,
                                   const std::string& claim_uid, Bytes size) {
  const auto has_room = [&](const RankCandidate& candidate) {
    return candidate.room >= size && candidate.room != Bytes(0);
  };
  const auto own = std::find_if(candidates.begin(), candidates.end(),
                                [&](const auto& candidate) { return candidate.node == node; });
  if (own == candidates.end() || !has_room(*own)) return std::nullopt;
  const double own_score = score(*own, claim_uid);
  return std::count_if(candidates.begin(), candidates.end(), [&](const RankCandidate& other) {
    if (!has_room(other)) return false;
    const double points = score(other, claim_uid);
    return points != own_score ? points > own_score : other.node < node;
  });
}

}  // namespace flexlocal::provisioner
