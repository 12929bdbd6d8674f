#include "provisioner/accounting/budget.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "flexvolume/base/text.h"
#include "provisioner/accounting/accounts.h"
#include "test/unit/accounting/promised.h"

namespace flexlocal::provisioner::test {
namespace {

using engine::Backend;

Bytes gib(std::uint64_t count) { return Bytes(count * kGiB.count()); }

Ratio ratio(std::string_view text) {
  const auto parsed = parse_ratio(text);
  REQUIRE(parsed.ok());
  return *parsed;
}

NodeBudget budget_of(std::optional<Bytes> memory, std::string_view fraction = "0.85",
                     std::string_view disk = "32") {
  return {memory, ratio(fraction), ratio(disk)};
}

// Two pools that share a volume group; the first has a thin pool, too.
engine::NodeConfig two_pools() {
  engine::NodeConfig config;
  config.pools["default"] = {
      .volume_group = "vg", .thin_pool = "thin", .quota_path = {}, .quota_size = {}};
  config.pools["other"] = {
      .volume_group = "vg", .thin_pool = {}, .quota_path = {}, .quota_size = {}};
  return config;
}

Promise promise_of(const std::string& name, Bytes size, const std::string& pool = "default") {
  return {name, Backend::kLvm, pool, size};
}

// A node's volumes, wherever they are known from.
struct Node {
  engine::NodeConfig config = two_pools();
  NodeBudget budget = budget_of(gib(2), "0.5", "32");  // 32 GiB
  std::map<std::string, Promise> volumes;              // by their records
  std::map<std::string, Promise> reserved;             // by ticket
  std::map<std::string, Promise> held;                 // on the disks

  Bytes given(const std::string& pool, const std::string& except = "") const {
    engine::Inventory inventory;
    for (const auto& [name, has] : held)
      inventory.holdings.push_back({volume_called(name),
                                    has.backend == Backend::kThin ? "thin:vg/thin" : "group:vg",
                                    has.size});
    Accounts accounts(config);
    accounts.see(inventory);
    for (const auto& [name, promise] : volumes)
      accounts.see_record(record_called(promise, held.contains(name)
                                                     ? engine::RecordState::kReady
                                                     : engine::RecordState::kPromised));
    for (const auto& [ticket, promise] : reserved) accounts.reserve(ticket, called(promise));
    return accounts.given(pool, volume_called(except), "");
  }
  bool may_have(const Promise& wanted) const {
    const Allowance allowance{budget, {}, given(wanted.pool, wanted.name)};
    return check_budget(allowance, wanted.pool, wanted.size).ok();
  }
};

}  // namespace

TEST_CASE("ratios are read exactly, and written as short as they can be") {
  const std::map<std::string, std::pair<std::uint64_t, std::string>> cases = {
      {"0", {0, "0"}},
      {"32", {32'000'000, "32"}},
      {"0.85", {850'000, "0.85"}},
      {"1.500", {1'500'000, "1.5"}},
      {"0.000001", {1, "0.000001"}},
      {"007", {7'000'000, "7"}},
      {"1000000", {1'000'000'000'000, "1000000"}}};
  for (const auto& [text, expected] : cases) {
    CHECK(ratio(text).millionths() == expected.first);
    CHECK(to_string(ratio(text)) == expected.second);
  }
}

TEST_CASE("what is no ratio is refused with what is accepted") {
  for (const char* text :
       {"", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", " 1", "1 ", "1.0000001", "1000000.000001",
        "1000001", "99999999999999999999", "1.-5", "nan", "32x"})
    CHECK_FALSE(parse_ratio(text).ok());
  CHECK(parse_ratio("a lot").error().message() ==
        "\"a lot\" is not a number from 0 to 1000000 with at most 6 decimals, such as 32 or 0.85");
}

TEST_CASE("a budget is memory x fraction x ratio, rounded down to the byte") {
  CHECK(budget_of(gib(64)).limit({}) == Bytes(1'869'169'767'219));  // 1740.8 GiB
  CHECK(budget_of(Bytes(3), "0.333333", "1").limit({}) == Bytes(0));
  CHECK(budget_of(Bytes(3), "0.333334", "1").limit({}) == Bytes(1));
  CHECK(budget_of(Bytes(1), "0.000001", "1000000").limit({}) == Bytes(1));
  CHECK(budget_of(gib(64)).limit(ratio("8")) == Bytes(467'292'441'804));
}

TEST_CASE("the disk that goes with a memory is rounded up, and never wraps round") {
  CHECK(disk_for(gib(2), ratio("32")) == gib(64));
  CHECK(disk_for(Bytes(3), ratio("0.5")) == Bytes(2));
  CHECK(disk_for(Bytes(1), ratio("0.000001")) == Bytes(1));
  CHECK(disk_for(Bytes(0), ratio("32")) == Bytes(0));
  CHECK(disk_for(kMostBytes, ratio("1000000")) == kMostBytes);
}

TEST_CASE("no ratio is no limit; an unknown memory is a limit of nothing; none wraps round") {
  CHECK_FALSE(budget_of(gib(64), "1", "0").limit({}).has_value());
  CHECK_FALSE(budget_of(std::nullopt).limit(ratio("0")).has_value());
  CHECK(budget_of(std::nullopt).limit({}) == Bytes(0));
  CHECK(budget_of(kMostBytes, "1", "1000000").limit({}) == kMostBytes);
  CHECK(budget_of(kMostBytes, "1", "1").limit({}) == kMostBytes);
  CHECK(budget_of(kMostBytes, "0.000001", "1000000").limit({}) == kMostBytes);
}

TEST_CASE("a volume may take the last byte, and the refusal of one more has all figures") {
  const NodeBudget budget = budget_of(gib(64));
  const Bytes limit = *budget.limit({});
  CHECK(check_budget({budget, {}, limit - kGiB}, "fast", kGiB).ok());
  const auto refused = check_budget({budget, {}, limit - kGiB}, "fast", kGiB + Bytes(1));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kNoSpace);
  CHECK(check_budget({budget, ratio("0.5"), gib(20)}, "fast", gib(8)).error().message() ==
        "pool \"fast\" has 7.19 GiB left of its RAM budget of 27.19 GiB (64 GiB of RAM x 0.85 x "
        "0.5), 8 GiB asked");
  CHECK(check_budget({budget, ratio("0"), limit}, "fast", kMostBytes).ok());
  // Given before the node lost memory.
  CHECK_FALSE(check_budget({budget, {}, limit + kGiB}, "fast", Bytes(1)).ok());
}

TEST_CASE("without a memory nothing is given, and the words say what is missing") {
  const NodeBudget budget = budget_of(std::nullopt);
  CHECK(check_budget({budget, {}, Bytes(0)}, "fast", Bytes(1)).error().message() ==
        "there is no RAM budget, for the Node object has no status.capacity.memory");
}

TEST_CASE("a volume counts once, at the largest size, wherever it is known from") {
  Node node;
  node.volumes["a"] = node.held["a"] = promise_of("a", gib(1));
  CHECK(node.given("default") == gib(1));
  node.reserved["growth/a"] = promise_of("a", gib(3));
  CHECK(node.given("default") == gib(3));
  node.held["a"].size = gib(4);
  CHECK(node.given("default") == gib(4));
  CHECK(node.given("default", "a") == Bytes(0));
  node.reserved["b"] = promise_of("b", gib(2));
  CHECK(node.given("default") == gib(6));
  CHECK(node.given("other") == Bytes(0));
}

TEST_CASE("volumes of every backend count, and so do those without a record") {
  Node node;
  node.held["orphan"] = {"orphan", Backend::kThin, "default", gib(1)};
  node.volumes["quota"] = {"quota", Backend::kQuota, "default", gib(2)};
  CHECK(node.given("default") == gib(3));
  CHECK(node.given("other") == Bytes(0));
}

TEST_CASE("what lies in a shared group counts for the pool that promised it, an orphan for both") {
  Node node;
  node.volumes["a"] = node.held["a"] = promise_of("a", gib(1), "other");
  CHECK(node.given("default") == Bytes(0));
  CHECK(node.given("other") == gib(1));
  node.held["orphan"] = promise_of("orphan", gib(2));
  CHECK(node.given("default") == gib(2));
  CHECK(node.given("other") == gib(3));
}

namespace {

// What a step does is what the daemon does, in its order; each may be the last before it is killed.
struct Life {
  Node node;
  std::mt19937 random;
  int next = 0;

  explicit Life(unsigned seed) : random(seed) {}

  unsigned upto(unsigned most) { return static_cast<unsigned>(random() % most); }

  std::string any(const std::map<std::string, Promise>& of) {
    auto at = of.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random() % of.size()));
    return at->first;
  }
  void claim() {
    const std::string name = concat("v", next++);
    const Promise wanted = promise_of(name, gib(1 + upto(12)));
    if (node.may_have(wanted)) node.reserved[name] = wanted;
  }
  void create() {
    const std::string ticket = any(node.reserved);
    const Promise promise = node.reserved.at(ticket);
    node.volumes.try_emplace(promise.name, promise);
    if (upto(2) == 0) node.reserved.erase(ticket);  // else the answer was lost
  }
  void mount() {
    const std::string name = any(node.volumes);
    node.held.try_emplace(name, node.volumes.at(name));
  }
  void grow() {
    Promise wanted = node.volumes.at(any(node.volumes));
    wanted.size += gib(1 + upto(8));
    if (!node.may_have(wanted)) return;
    node.reserved["growth/" + wanted.name] = wanted;
    if (node.held.contains(wanted.name) && upto(2) == 0) node.held[wanted.name] = wanted;
  }
  // With its record, or that alone is lost: then the data stays, and comes back by another hand.
  void remove() {
    const std::string name = any(node.volumes);
    if (upto(4) != 0) node.held.erase(name);
    node.volumes.erase(name);
    std::erase_if(node.reserved, [&](const auto& entry) { return entry.second.name == name; });
  }
  // What was reserved is forgotten: what was written is in the records, what grew is on the disks.
  void restart() { node.reserved.clear(); }
  void step() {
    const unsigned kind = upto(9);
    if (kind < 3) return claim();
    if (kind == 3) return restart();
    if (kind == 4) node.budget.memory = gib(1 + upto(4));
    if (kind == 5 && !node.reserved.empty()) create();
    if (node.volumes.empty()) return;
    if (kind == 6) mount();
    if (kind == 7) grow();
    if (kind == 8) remove();
  }
  // Counted another way: each name once.
  Bytes counted() const {
    std::map<std::string, Bytes> sizes;
    for (const auto* of : {&node.volumes, &node.reserved, &node.held})
      for (const auto& [key, promise] : *of)
        sizes[promise.name] = std::max(sizes[promise.name], promise.size);
    Bytes sum;
    for (const auto& [name, size] : sizes) sum += size;
    return sum;
  }
};

}  // namespace

TEST_CASE(
    "no sequence of claims, growths, removals, restarts and changes of memory gives more than the "
    "budget, or counts anything twice") {
  std::size_t full = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    Life life(seed);
    for (int number = 0; number < 300; ++number) {
      const Bytes before = life.node.given("default");
      life.step();
      const Bytes after = life.node.given("default");
      CHECK(after == life.counted());
      // Memory that is lost takes nothing back, and lets nothing be added.
      CHECK(after <= std::max(before, *life.node.budget.limit({})));
      full += *life.node.budget.limit({}) - after < kGiB ? 1 : 0;
    }
  }
  CHECK(full > 1000);  // it did reach the budget
}

}  // namespace flexlocal::provisioner::test
