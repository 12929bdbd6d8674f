#include "provisioner/accounting/accounts.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner::test {
namespace {

using engine::Backend;

const Bytes kExtent(4 * kMiB.count());

Bytes extents(std::uint64_t count) { return Bytes(count * kExtent.count()); }

// A mirrored and a linear pool that share a group, the first with a thin pool, too.
engine::NodeConfig two_pools() {
  engine::NodeConfig config;
  config.pools["mirrored"] = {.volume_group = "vg",
                              .layout = {engine::Layout::Kind::kRaid1},
                              .thin_pool = "thin",
                              .quota_path = {},
                              .quota_size = {}};
  config.pools["linear"] = {
      .volume_group = "vg", .thin_pool = {}, .quota_path = {}, .quota_size = {}};
  return config;
}

// What was told to accounts that have lived for a while, kept beside them.
struct Life {
  engine::NodeConfig config = two_pools();
  Accounts accounts{config};
  std::mt19937 random;
  engine::Inventory inventory{};
  std::map<std::string, Promise> promised{};  // by volume
  std::map<std::string, Promise> reserved{};  // by claim

  explicit Life(unsigned seed) : random(seed) {}

  unsigned upto(unsigned most) { return static_cast<unsigned>(random() % most); }
  std::string volume() { return concat("v", upto(6)); }
  std::string claim() { return concat("c", upto(6)); }
  Promise any_promise() {
    const Backend backend = upto(4) == 0 ? Backend::kThin : Backend::kLvm;
    const std::string pool = upto(5) == 0 ? "unknown" : upto(2) == 0 ? "mirrored" : "linear";
    return {volume(), backend, pool, extents(1 + upto(9))};
  }
  void look_at_disks() {
    inventory = {};
    const Bytes disk = extents(10 + upto(40));
    if (upto(8) != 0)
      inventory.spaces.push_back({"group:vg", extents(200), extents(90), kExtent, {disk, disk}});
    if (upto(4) != 0)
      inventory.spaces.push_back({"thin:vg/thin", extents(100), extents(60), kExtent, {}});
    for (unsigned count = upto(5); count != 0; --count)
      inventory.holdings.push_back(
          {volume(), upto(3) == 0 ? "thin:vg/thin" : "group:vg", extents(1 + upto(9))});
    accounts.see(inventory);
  }
  void step() {
    const Promise promise = any_promise();
    const std::string ticket = claim();
    switch (upto(8)) {
      case 0:
        return look_at_disks();
      case 1:
        promised.erase(promise.name);
        return accounts.forget_promise(promise.name);
      case 2:
        reserved.erase(ticket);
        return accounts.release(ticket);
      case 3:
      case 4:
        reserved.insert_or_assign(ticket, promise);
        return accounts.reserve(ticket, promise);
      default:
        promised.insert_or_assign(promise.name, promise);
        return accounts.promise(promise);
    }
  }
  // The same facts told to accounts of their own, without a claim's reservation.
  void tell(Accounts& fresh, const std::string& except_claim) const {
    for (const auto& [name, promise] : promised) fresh.promise(promise);
    for (const auto& [ticket, promise] : reserved)
      if (ticket != except_claim) fresh.reserve(ticket, promise);
    fresh.see(inventory);
  }
};

void check_same(const Result<PoolRoom>& one, const Result<PoolRoom>& other) {
  REQUIRE(one.ok() == other.ok());
  if (!one) {
    CHECK(one.error().message() == other.error().message());
    return;
  }
  CHECK(one->free == other->free);
  CHECK(one->held == other->held);
  CHECK(one->disks_suffice == other->disks_suffice);
}

}  // namespace

TEST_CASE("after any history the accounts say what they say when told the facts at once") {
  std::size_t refused = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Life life(seed);
    for (int number = 0; number < 150; ++number) {
      life.step();
      const Promise wanted = life.any_promise();
      const std::string claim = life.claim();
      Accounts fresh(life.config);
      life.tell(fresh, claim);
      const auto room = life.accounts.room(wanted, claim);
      check_same(room, fresh.room(wanted, ""));
      refused += room && !room->disks_suffice ? 1 : 0;
      for (const std::string pool : {"mirrored", "linear", "unknown"})
        CHECK(life.accounts.given(pool, wanted.name, claim) == fresh.given(pool, wanted.name, ""));
      CHECK(life.accounts.has_reservations() == !life.reserved.empty());
    }
  }
  CHECK(refused > 100);  // layouts were full, too
}

TEST_CASE("sums that no disk could hold leave nothing, and come back when they are gone") {
  const auto config = two_pools();
  Accounts accounts(config);
  accounts.see({{}, {}, {{"group:vg", kMostBytes, kMostBytes, kExtent, {}}}, {}});
  const Promise wanted{"w", Backend::kLvm, "linear", kExtent};
  const Bytes most(kMostBytes.count() - kMostBytes.count() % kExtent.count());
  for (int i = 0; i < 5; ++i)
    accounts.promise({concat("v", i), Backend::kLvm, i % 2 == 0 ? "linear" : "mirrored", most});
  CHECK(accounts.room(wanted, "")->free == Bytes(0));
  CHECK(accounts.given("linear", "", "") == Bytes(UINT64_MAX));
  for (int i = 0; i < 5; ++i) accounts.forget_promise(concat("v", i));
  CHECK(accounts.room(wanted, "")->free == kMostBytes);
  CHECK(accounts.given("linear", "", "") == Bytes(0));
}

TEST_CASE("what is reserved twice for a claim counts once, the later one") {
  const auto config = two_pools();
  Accounts accounts(config);
  accounts.reserve("c", {"v", Backend::kLvm, "linear", extents(4)});
  accounts.reserve("c", {"u", Backend::kLvm, "linear", extents(3)});
  CHECK(accounts.given("linear", "", "") == extents(3));
  CHECK(accounts.given("linear", "", "c") == Bytes(0));
  accounts.release("c");
  CHECK_FALSE(accounts.has_reservations());
  CHECK(accounts.given("linear", "", "") == Bytes(0));
}

}  // namespace flexlocal::provisioner::test
