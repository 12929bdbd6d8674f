#include "provisioner/immediate_rank.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

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
  return -static_cast<double>(candidate.room.count()) / std::log(drawn);
}

}  // namespace

std::vector<std::string> rank_nodes(const std::vector<RankCandidate>& candidates,
                                    const std::string& claim_uid, Bytes size) {
  std::vector<std::pair<double, const std::string*>> scored;
  for (const RankCandidate& candidate : candidates)
    if (candidate.room >= size && candidate.room != Bytes(0))
      scored.emplace_back(score(candidate, claim_uid), &candidate.node);
  std::sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : *a.second < *b.second;
  });
  std::vector<std::string> order;
  order.reserve(scored.size());
  for (const auto& [points, node] : scored) order.push_back(*node);
  return order;
}

std::optional<std::chrono::nanoseconds> turn_of(const std::string& node,
                                                const std::vector<RankCandidate>& candidates,
                                                const std::string& claim_uid, Bytes size) {
  const std::vector<std::string> order = rank_nodes(candidates, claim_uid, size);
  const auto place = std::find(order.begin(), order.end(), node);
  if (place == order.end()) return std::nullopt;
  return (place - order.begin()) * std::chrono::nanoseconds(kRankPause);
}

}  // namespace flexlocal::provisioner
