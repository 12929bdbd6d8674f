#include "provisioner/accounting/accounts.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <vector>

#include "flexvolume/base/text.h"
#include "test/unit/accounting/promised.h"

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
  std::map<std::string, Promise> reserved{};         // by claim
  std::map<std::string, engine::Record> recorded{};  // by volume

  explicit Life(unsigned seed) : random(seed) {}

  unsigned upto(unsigned most) { return static_cast<unsigned>(random() % most); }
  std::string word() { return concat("v", upto(6)); }
  std::string claim() { return concat("c", upto(6)); }
  Promise any_promise() {
    const Backend backend = upto(4) == 0 ? Backend::kThin : Backend::kLvm;
    const std::string pool = upto(5) == 0 ? "unknown" : upto(2) == 0 ? "mirrored" : "linear";
    return {word(), backend, pool, extents(1 + upto(9))};
  }
  void look_at_disks() {
    inventory = {};
    const Bytes disk = extents(10 + upto(40));
    if (upto(8) != 0)
      inventory.spaces.push_back({"group:vg", extents(200), extents(90), kExtent, {disk, disk}});
    if (upto(4) != 0)
      inventory.spaces.push_back({"thin:vg/thin", extents(100), extents(60), kExtent, {}});
    for (unsigned count = upto(5); count != 0; --count)
      inventory.holdings.push_back({volume_called(word()),
                                    upto(3) == 0 ? "thin:vg/thin" : "group:vg",
                                    extents(1 + upto(9))});
    inventory.records = recorded;
    accounts.see(inventory);
  }
  void step() {
    const Promise promise = any_promise();
    const std::string name = volume_called(promise.name);
    const std::string ticket = claim();
    switch (upto(10)) {
      case 0:
        return look_at_disks();
      case 1:
        reserved.erase(ticket);
        return accounts.release(ticket);
      case 2:
        recorded.erase(name);
        return accounts.forget_record(name);
      case 3:
      case 4:
        reserved.insert_or_assign(ticket, called(promise));
        return accounts.reserve(ticket, called(promise));
      default: {
        constexpr std::array kStates = {engine::RecordState::kPromised, engine::RecordState::kReady,
                                        engine::RecordState::kWiping};
        const engine::Record record = record_called(promise, kStates.at(upto(kStates.size())));
        recorded.insert_or_assign(name, record);
        return accounts.see_record(record);
      }
    }
  }
  // The same facts told to accounts of their own, without a claim's reservation.
  void tell(Accounts& fresh, const std::string& except_claim) const {
    for (const auto& [ticket, promise] : reserved)
      if (ticket != except_claim) fresh.reserve(ticket, promise);
    engine::Inventory all = inventory;
    all.records = recorded;
    fresh.see(all);
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

// Of the linear pool.
engine::Record sample_record(std::uint64_t size, engine::RecordState state) {
  engine::VolumeSpec spec = sample_spec(kUid, extents(size));
  spec.pool = "linear";
  engine::Record record = engine::promised_record(spec, kUid);
  record.state = state;
  return record;
}

engine::Inventory hundred_extents() {
  return {{}, {}, {{"group:vg", extents(200), extents(100), kExtent, {}}}, {}};
}

Bytes free_of(const Accounts& accounts) {
  const auto room = accounts.room({"w", Backend::kLvm, "linear", kExtent}, "");
  REQUIRE(room);
  return room->free;
}

}  // namespace

TEST_CASE("after any history the accounts say what they say when told the facts at once") {
  std::size_t refused = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Life life(seed);
    for (int number = 0; number < 150; ++number) {
      life.step();
      const Promise wanted = called(life.any_promise());
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
    accounts.reserve(concat("c", i),
                     {concat("v", i), Backend::kLvm, i % 2 == 0 ? "linear" : "mirrored", most});
  CHECK(accounts.room(wanted, "")->free == Bytes(0));
  CHECK(accounts.given("linear", "", "") == Bytes(UINT64_MAX));
  for (int i = 0; i < 5; ++i) accounts.release(concat("c", i));
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

TEST_CASE("a volume counts once, at the largest of record, reservation and disk") {
  const auto config = two_pools();
  const std::string name = sample_record(1, engine::RecordState::kReady).spec.name.text();
  // Each of the three is the largest once; 0: it says nothing.
  for (const std::array<std::uint64_t, 3> sizes : {std::array<std::uint64_t, 3>{4, 2, 3},
                                                   {2, 4, 3},
                                                   {2, 3, 4},
                                                   {4, 0, 0},
                                                   {4, 0, 3},
                                                   {3, 4, 0}}) {
    const auto [recorded, reserved, held] = sizes;
    engine::Inventory seen = hundred_extents();
    if (held != 0) seen.holdings.push_back({name, "group:vg", extents(held)});
    Accounts accounts(config);
    accounts.see(seen);
    // What is ready counts where the disks show it.
    accounts.see_record(sample_record(
        recorded, held != 0 ? engine::RecordState::kReady : engine::RecordState::kPromised));
    if (reserved != 0) accounts.reserve("c", {name, Backend::kLvm, "linear", extents(reserved)});
    CAPTURE(recorded);
    CHECK(accounts.given("linear", "", "") == extents(4));
    // What is there is missing from what is free already.
    CHECK(free_of(accounts) == extents(100 - (4 - held)));
  }
}

TEST_CASE("a record says of which pool the volume on the disk is") {
  const auto config = two_pools();
  engine::Record record = sample_record(4, engine::RecordState::kReady);
  engine::Inventory seen = hundred_extents();
  seen.holdings.push_back({record.spec.name.text(), "group:vg", extents(4)});
  Accounts accounts(config);
  accounts.see(seen);
  CHECK(accounts.given("mirrored", "", "") == extents(4));
  accounts.see_record(record);
  CHECK(accounts.given("mirrored", "", "") == Bytes(0));
  CHECK(accounts.given("linear", "", "") == extents(4));
}

TEST_CASE("a record alone promises what is still to be made, and nothing else") {
  const auto config = two_pools();
  for (const engine::RecordState state :
       {engine::RecordState::kRefused, engine::RecordState::kPromised, engine::RecordState::kIntent,
        engine::RecordState::kNew, engine::RecordState::kReady, engine::RecordState::kWiping}) {
    const bool promises = state == engine::RecordState::kPromised ||
                          state == engine::RecordState::kIntent ||
                          state == engine::RecordState::kNew;
    const engine::Record record = sample_record(4, state);
    Accounts accounts(config);
    engine::Inventory seen = hundred_extents();
    accounts.see(seen);
    accounts.see_record(sample_record(4, engine::RecordState::kPromised));
    accounts.see_record(record);
    CHECK(accounts.given("linear", "", "") == (promises ? extents(4) : Bytes(0)));
    CHECK(free_of(accounts) == extents(promises ? 96 : 100));
    // The same by the next look.
    seen.records.emplace(record.spec.name.text(), record);
    accounts.see(seen);
    CHECK(free_of(accounts) == extents(promises ? 96 : 100));
  }
}

TEST_CASE("a look takes the place of all records that were known before it") {
  const auto config = two_pools();
  Accounts accounts(config);
  const engine::Record record = sample_record(4, engine::RecordState::kPromised);
  accounts.see(hundred_extents());
  accounts.see_record(record);
  accounts.see(hundred_extents());
  CHECK(free_of(accounts) == extents(100));
  accounts.see_record(record);
  accounts.forget_record(record.spec.name.text());
  accounts.forget_record(record.spec.name.text());
  CHECK(free_of(accounts) == extents(100));
  CHECK(accounts.given("linear", "", "") == Bytes(0));
}

}  // namespace flexlocal::provisioner::test
