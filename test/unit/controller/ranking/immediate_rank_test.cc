#include "provisioner/controller/ranking/immediate_rank.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner::test {
namespace {

Bytes gib(std::uint64_t count) { return Bytes(count * kGiB.count()); }

std::string uid(int number) { return concat("11111111-2222-3333-4444-", 100'000'000'000 + number); }

struct NamedNode {
  std::string node;
  Bytes room;
};

std::optional<std::size_t> rank_of_named(const std::string& node,
                                         const std::vector<NamedNode>& nodes,
                                         const std::string& claim_uid, Bytes size) {
  std::vector<RankCandidate> candidates;
  RankCandidate own{hash_of_node(node), Bytes()};
  for (const NamedNode& named : nodes) {
    candidates.push_back({hash_of_node(named.node), named.room});
    if (named.node == node) own = candidates.back();
  }
  const auto rank = rank_of(own, candidates, claim_uid, size);
  // What counts no further than asked for says the same as far as it counts.
  for (const std::size_t enough : {0U, 1U, 3U})
    CHECK(rank_of(own, candidates, claim_uid, size, enough) ==
          (rank ? std::optional(std::min(*rank, enough)) : rank));
  return rank;
}

// Nodes of 1 GiB, 2 GiB, ... each.
std::vector<NamedNode> nodes(unsigned count) {
  std::vector<NamedNode> out;
  for (unsigned i = 1; i <= count; ++i) out.push_back({concat("node-", i), gib(i)});
  return out;
}

// All that are ranked, best first.
std::vector<std::string> rank_nodes(const std::vector<NamedNode>& candidates,
                                    const std::string& claim_uid, Bytes size) {
  std::map<std::size_t, std::string> order;
  std::size_t ranked = 0;
  for (const NamedNode& candidate : candidates) {
    const auto rank = rank_of_named(candidate.node, candidates, claim_uid, size);
    if (!rank) continue;
    order[*rank] = candidate.node;
    ++ranked;
  }
  REQUIRE(order.size() == ranked);  // no two have the same rank, and none is left out
  if (ranked != 0) CHECK(order.rbegin()->first == ranked - 1);
  std::vector<std::string> names;
  for (const auto& [rank, name] : order) names.push_back(name);
  return names;
}

std::map<std::string, int> firsts(const std::vector<NamedNode>& candidates, int claims) {
  std::map<std::string, int> counts;
  for (int i = 0; i < claims; ++i) ++counts[rank_nodes(candidates, uid(i), kGiB).front()];
  return counts;
}

}  // namespace

// Nodes of different versions of this program must agree.
TEST_CASE("the ranking is the same for ever") {
  const auto order = rank_nodes(nodes(5), "7b1e3c1c-52f6-4f0d-9c49-6d1f8a1f6a01", kGiB);
  CHECK(join(order, " ") == "node-4 node-5 node-1 node-3 node-2");
}

TEST_CASE("in whatever order the nodes are given, the ranking is the same") {
  std::mt19937_64 random(uid(0).size());
  std::vector<NamedNode> shuffled = nodes(20);
  for (int i = 0; i < 50; ++i) {
    const auto order = rank_nodes(nodes(20), uid(i), kGiB);
    CHECK(order.size() == 20);
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    CHECK(rank_nodes(shuffled, uid(i), kGiB) == order);
  }
}

TEST_CASE("each node is first for a share of the claims that is as its room is to that of all") {
  constexpr int kClaims = 20'000;
  const auto candidates = nodes(4);
  for (const auto& [node, count] : firsts(candidates, kClaims)) {
    const double share = std::bit_floor(static_cast<unsigned>(node.back() - '0')) / 9.0;
    CHECK(count == doctest::Approx(share * kClaims).epsilon(0.05));
  }
}

TEST_CASE("a node that goes leaves its claims to others, and all others as they were") {
  for (const std::string gone : {"node-1", "node-6"}) {
    const auto with_it = nodes(6);
    auto without = with_it;
    std::erase_if(without, [&](const NamedNode& node) { return node.node == gone; });
    int changed = 0;
    for (int i = 0; i < 2000; ++i) {
      auto expected = rank_nodes(with_it, uid(i), kGiB);
      changed += expected.front() == gone ? 1 : 0;
      std::erase(expected, gone);
      CHECK(rank_nodes(without, uid(i), kGiB) == expected);
    }
    CHECK(changed > 0);
  }
}

TEST_CASE("a node whose room changes changes nothing among the others") {
  auto candidates = nodes(6);
  for (int i = 0; i < 500; ++i) {
    auto before = rank_nodes(candidates, uid(i), kGiB);
    auto changed = candidates;
    changed[2].room = gib(30);
    auto after = rank_nodes(changed, uid(i), kGiB);
    std::erase(before, "node-3");
    std::erase(after, "node-3");
    CHECK(before == after);
  }
}

TEST_CASE("a node without room for the claim is never ranked") {
  for (int i = 0; i < 200; ++i) {
    const auto order = rank_nodes(nodes(5), uid(i), gib(3));
    CHECK(order.size() == 3);
    for (const std::string less : {"node-1", "node-2"})
      CHECK(std::find(order.begin(), order.end(), less) == order.end());
  }
  CHECK(rank_nodes(nodes(5), uid(1), gib(6)).empty());
  CHECK(rank_nodes({{"a", Bytes(0)}}, uid(1), Bytes(0)).empty());
  CHECK(rank_nodes({}, uid(1), kGiB).empty());
}

TEST_CASE("rooms that are alike to a power of two are ranked alike, whatever a volume more takes") {
  auto before = nodes(6);
  auto after = before;
  before[4].room = gib(7);
  after[4].room = gib(5);
  for (int i = 0; i < 200; ++i)
    CHECK(rank_nodes(before, uid(i), kGiB) == rank_nodes(after, uid(i), kGiB));
}

TEST_CASE("a pause is longer where there are many nodes to be told of a claim") {
  CHECK(least_rank_pause(1) == kRankPause);
  CHECK(least_rank_pause(300) == kRankPause);
  CHECK(least_rank_pause(1000) == 3 * kRankPause);
}

TEST_CASE("a pause is as long as the firsts are slow, and forgets that little by little") {
  using std::chrono::seconds;
  RankPause pause;
  const Clock::Instant start{};
  CHECK(pause.at(start) == kRankPause);
  CHECK_FALSE(pause.is_news(seconds(1), start));
  pause.observe(seconds(1), start);
  CHECK(pause.at(start) == kRankPause);
  CHECK(pause.is_news(seconds(40), start));
  pause.observe(seconds(40), start);
  CHECK(pause.at(start) == seconds(80));
  CHECK_FALSE(pause.is_news(seconds(40), start));
  pause.observe(seconds(2), start);  // one that was quick does not say that all are
  CHECK(pause.at(start) == seconds(80));
  CHECK(pause.at(start + RankPause::kForget) == seconds(40));
  pause.observe(seconds(20), start + RankPause::kForget);
  CHECK(pause.at(start + 2 * RankPause::kForget) == seconds(20));
  CHECK(pause.at(start + 10 * RankPause::kForget) == kRankPause);
}

}  // namespace flexlocal::provisioner::test
