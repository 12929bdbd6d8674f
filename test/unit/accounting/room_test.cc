#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "flexvolume/base/text.h"
#include "provisioner/accounting/accounts.h"
#include "test/unit/accounting/promised.h"

namespace flexlocal::provisioner::test {
namespace {

using engine::Backend;
using engine::Layout;

const Bytes kExtent(4 * kMiB.count());

Bytes mib(std::uint64_t count) { return Bytes(count * kMiB.count()); }

// One pool with all three backends, and a second one on the same group.
engine::NodeConfig config_with(Layout layout = {}) {
  engine::NodeConfig config;
  config.pools["default"] = {.volume_group = "vg",
                             .layout = layout,
                             .thin_pool = "pool0",
                             .quota_path = "/srv/quota",
                             .quota_size = {}};
  config.pools["other"] = {
      .volume_group = "vg", .thin_pool = {}, .quota_path = {}, .quota_size = {}};
  return config;
}

engine::Inventory inventory_of(std::uint64_t free_mib, std::vector<Bytes> disks = {}) {
  return {{},
          {},
          {{"group:vg", kGiB, mib(free_mib), kExtent, std::move(disks)},
           {"thin:vg/pool0", kGiB, mib(free_mib), kExtent, {}},
           {"quota:default", kGiB, mib(free_mib), Bytes(4096), {}}},
          {}};
}

Promise promise_of(const std::string& name, std::uint64_t size_mib, Backend backend = Backend::kLvm,
                   const std::string& pool = "default") {
  return {name, backend, pool, mib(size_mib)};
}

// All reserved, or every other one that may be by its record.
Result<PoolRoom> room_beside(const std::vector<Promise>& promises, const Promise& wanted,
                             const engine::NodeConfig& config, const engine::Inventory& inventory,
                             bool mixed) {
  Accounts accounts(config);
  engine::Inventory seen = inventory;
  for (engine::Holding& holding : seen.holdings) holding.volume = volume_called(holding.volume);
  accounts.see(seen);
  std::set<std::string_view> known;
  for (std::size_t i = 0; i < promises.size(); ++i)
    if (mixed && i % 2 == 0 && known.insert(promises[i].name).second)
      accounts.see_record(record_called(promises[i], engine::RecordState::kPromised));
    else
      accounts.reserve(concat("claim", i), called(promises[i]));
  return accounts.room(called(wanted), "");
}

// The same wherever the promises stand.
Result<PoolRoom> any_room(const Promise& wanted, const engine::NodeConfig& config,
                          const engine::Inventory& inventory,
                          const std::vector<Promise>& promises) {
  auto found = room_beside(promises, wanted, config, inventory, false);
  const auto other = room_beside(promises, wanted, config, inventory, true);
  REQUIRE(found.ok() == other.ok());
  if (found) {
    CHECK(found->free == other->free);
    CHECK(found->held == other->held);
    CHECK(found->disks_suffice == other->disks_suffice);
  }
  return found;
}

PoolRoom room(const engine::Inventory& inventory, const std::vector<Promise>& promises,
              const Promise& wanted = promise_of("wanted", 4),
              const engine::NodeConfig& config = config_with()) {
  const auto found = any_room(wanted, config, inventory, promises);
  REQUIRE(found.ok());
  return *found;
}

std::uint64_t free_mib(const engine::Inventory& inventory, const std::vector<Promise>& promises) {
  return room(inventory, promises).free.count() / kMiB.count();
}

}  // namespace

TEST_CASE("without promises all that the space has free is free") {
  CHECK(free_mib(inventory_of(100), {}) == 100);
}

TEST_CASE("a promise takes its room before its volume is made, and counts once") {
  const auto inventory = inventory_of(100);
  CHECK(free_mib(inventory, {promise_of("a", 40)}) == 60);
  CHECK(free_mib(inventory, {promise_of("a", 40), promise_of("a", 40)}) == 60);
  CHECK(free_mib(inventory, {promise_of("a", 40), promise_of("b", 40)}) == 20);
}

TEST_CASE("a volume that exists has taken its room already, and is never in its own way") {
  auto inventory = inventory_of(60);
  inventory.holdings = {{"a", "group:vg", mib(40)}};
  CHECK(free_mib(inventory, {promise_of("a", 40)}) == 60);
  CHECK(free_mib(inventory_of(60), {promise_of("wanted", 40)}) == 60);
}

TEST_CASE("a volume that has grown counts as what it has become") {
  // 100 MiB less 60 on the disk; that it was promised 40 at first does not matter any more.
  auto inventory = inventory_of(40);
  inventory.holdings = {{"a", "group:vg", mib(60)}};
  CHECK(free_mib(inventory, {promise_of("a", 40)}) == 40);
}

TEST_CASE("a promise that has grown counts with what its volume does not offer yet") {
  auto inventory = inventory_of(60);
  inventory.holdings = {{"a", "group:vg", mib(40)}};
  CHECK(free_mib(inventory, {promise_of("a", 72)}) == 28);
  CHECK(free_mib(inventory, {promise_of("a", 40), promise_of("a", 72)}) == 28);
  CHECK(free_mib(inventory, {promise_of("a", 72), promise_of("a", 40)}) == 28);
}

TEST_CASE("who wants to grow is told what it has, and is never in its own way") {
  auto inventory = inventory_of(60);
  inventory.holdings = {{"a", "group:vg", mib(40)}};
  const PoolRoom found = room(inventory, {promise_of("a", 70)}, promise_of("a", 80));
  CHECK(found.held == mib(40));
  CHECK(found.free == mib(60));
  CHECK(room(inventory, {promise_of("a", 40)}).held == Bytes(0));
}

TEST_CASE("a volume that exists in another space is no proof that it exists in this one") {
  auto inventory = inventory_of(100);
  inventory.holdings = {{"a", "group:elsewhere", mib(40)}};
  CHECK(free_mib(inventory, {promise_of("a", 40)}) == 60);
}

TEST_CASE("backends have rooms of their own, pools on one group share it") {
  const auto inventory = inventory_of(100);
  const std::vector<Promise> promises = {
      promise_of("thick", 8), promise_of("thick-too", 12, Backend::kLvm, "other"),
      promise_of("thin", 40, Backend::kThin), promise_of("folder", 80, Backend::kQuota),
      promise_of("lost", 100, Backend::kLvm, "no-such-pool")};
  CHECK(room(inventory, promises).free == mib(80));
  CHECK(room(inventory, promises, promise_of("w", 4, Backend::kLvm, "other")).free == mib(80));
  CHECK(room(inventory, promises, promise_of("w", 4, Backend::kThin)).free == mib(60));
  CHECK(room(inventory, promises, promise_of("w", 4, Backend::kQuota)).free == mib(20));
  CHECK(room(inventory, promises, promise_of("w", 4, Backend::kQuota)).unit == Bytes(4096));
}

TEST_CASE("a promise is counted in whole units, as it will be taken") {
  CHECK(free_mib(inventory_of(100), {{"odd", Backend::kLvm, "default", Bytes(1)}}) == 96);
}

TEST_CASE("promises beyond what is free leave nothing, and never wrap") {
  const auto inventory = inventory_of(100);
  CHECK(free_mib(inventory, {promise_of("a", 101)}) == 0);
  CHECK(free_mib(inventory,
                 {{"huge", Backend::kLvm, "default", Bytes(UINT64_MAX)}, promise_of("a", 1)}) == 0);
}

TEST_CASE("a mirror is promised twice, with the metadata of both halves") {
  const auto config = config_with({Layout::Kind::kRaid1});
  const auto inventory = inventory_of(200, {mib(100), mib(100)});
  CHECK(room(inventory, {promise_of("a", 40)}, promise_of("w", 4), config).free ==
        mib(200 - 2 * (40 + 4)));
}

TEST_CASE("what is not here is told by what is missing") {
  const auto words = [](const Promise& wanted, const engine::NodeConfig& config,
                        const engine::Inventory& inventory) {
    const auto found = room_beside({}, wanted, config, inventory, false);
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code() == ErrorCode::kNotFound);
    return found.error().message();
  };
  const engine::Inventory nothing;
  const auto all = config_with();
  CHECK(words(promise_of("w", 4, Backend::kLvm, "fast"), all, nothing) ==
        "pool \"fast\" is not defined on this node (/etc/flexlocal/node.conf has default, other)");
  CHECK(words(promise_of("w", 4), all, nothing) ==
        "pool \"default\" is volume group \"vg\", which is not on this node");
  CHECK(words(promise_of("w", 4, Backend::kThin), all, nothing) ==
        "pool \"default\" is thin pool \"vg/pool0\", which is not to be seen on this node");
  CHECK(words(promise_of("w", 4, Backend::kQuota), all, nothing) ==
        "pool \"default\" has no file system with project quotas to be seen on this node");
  CHECK(words(promise_of("w", 4, Backend::kThin, "other"), all, inventory_of(100)) ==
        "pool \"other\" has no thin-pool in this node's node.conf, so that it has no thin volumes");
  CHECK(words(promise_of("w", 4, Backend::kQuota, "other"), all, inventory_of(100)) ==
        "pool \"other\" has no quota-path or quota-size in this node's node.conf, so that it has "
        "no quota volumes");
}

namespace {

bool disks_suffice(Layout layout, std::vector<Bytes> disks, std::uint64_t wanted_mib,
                   const std::vector<Promise>& promises = {}) {
  const auto inventory = inventory_of(100'000, std::move(disks));
  return room(inventory, promises, promise_of("wanted", wanted_mib), config_with(layout))
      .disks_suffice;
}

}  // namespace

TEST_CASE("a layout needs its disks, and linear volumes need none in particular") {
  const Layout mirror{Layout::Kind::kRaid1};
  const Layout striped{Layout::Kind::kStriped, 2};
  CHECK(disks_suffice({}, {}, 1000));
  CHECK_FALSE(disks_suffice(mirror, {mib(1000)}, 40));
  CHECK(disks_suffice(mirror, {mib(44), mib(44)}, 40));
  CHECK_FALSE(disks_suffice(mirror, {mib(1000), mib(40)}, 40));
  CHECK(disks_suffice(striped, {mib(20), mib(20)}, 40));
  CHECK_FALSE(disks_suffice(striped, {mib(1000), mib(16)}, 40));
}

TEST_CASE("what is promised takes its part of every disk, and must still find its own") {
  const Layout mirror{Layout::Kind::kRaid1};
  const std::vector<Bytes> disks = {mib(100), mib(100)};
  CHECK(disks_suffice(mirror, disks, 48, {promise_of("a", 44)}));
  CHECK_FALSE(disks_suffice(mirror, disks, 52, {promise_of("a", 44)}));
  // A linear one may be put on either disk, before or after.
  const Promise linear = promise_of("b", 60, Backend::kLvm, "other");
  CHECK(disks_suffice(mirror, disks, 36, {linear}));
  CHECK_FALSE(disks_suffice(mirror, disks, 40, {linear}));
  const auto inventory = inventory_of(200, disks);
  const auto config = config_with(mirror);
  CHECK_FALSE(
      room(inventory, {promise_of("a", 80)}, promise_of("w", 20, Backend::kLvm, "other"), config)
          .disks_suffice);
  CHECK(room(inventory, {promise_of("a", 80)}, promise_of("w", 16, Backend::kLvm, "other"), config)
            .disks_suffice);
}

namespace {

// The model: a group of disks with whole extents; volumes that are promised, made, unmade (by a
// call that failed), and gone. The rule under test: whoever is given room finds it when the volume
// is made, whichever disks LVM takes.
struct Model {
  engine::NodeConfig config;
  std::vector<std::uint64_t> disks;                        // free extents
  std::map<std::string, Promise> promised;                 // by volume
  std::map<std::string, std::vector<std::uint64_t>> made;  // extents by disk
  std::map<std::string, Bytes> held;                       // what those offer

  engine::Inventory inventory() const {
    engine::Inventory now{{}, {}, {{"group:vg", kGiB, Bytes(0), kExtent, {}}}, {}};
    engine::Space& space = now.spaces.front();
    for (const std::uint64_t disk : disks) {
      space.disks.emplace_back(disk * kExtent.count());
      space.free += space.disks.back();
    }
    for (const auto& [name, taken] : made)
      now.holdings.push_back({name, "group:vg", held.at(name)});
    return now;
  }
  std::vector<Promise> promises() const {
    std::vector<Promise> out;
    for (const auto& [name, promise] : promised) out.push_back(promise);
    return out;
  }
};

// As many different disks as the layout needs, each with `each` extents, in a random order; a
// linear volume takes what it finds. Nothing when there is no such choice. `held`: what is there
// already; a mirror has its metadata then.
std::optional<std::vector<std::uint64_t>> allocate(Model& model, const Promise& promise,
                                                   std::mt19937& random, Bytes held = {}) {
  const Layout layout = model.config.pools.at(promise.pool).layout;
  std::uint64_t left = (promise.size - held).count() / kExtent.count();
  const std::uint64_t metadata = held.count() == 0 ? 1 : 0;
  const std::uint64_t each =
      layout.kind == Layout::Kind::kRaid1 ? left + metadata : left / layout.stripes;
  std::vector<std::size_t> order(model.disks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::uint64_t> taken(model.disks.size());
  unsigned parts = engine::disks_needed(layout);
  for (const std::size_t disk : order) {
    if (layout.kind == Layout::Kind::kLinear) {
      taken[disk] = std::min(left, model.disks[disk]);
      left -= taken[disk];
    } else if (parts != 0 && model.disks[disk] >= each) {
      taken[disk] = each;
      --parts;
    }
  }
  const bool found = layout.kind == Layout::Kind::kLinear ? left == 0 : parts == 0;
  if (!found) return std::nullopt;
  for (std::size_t i = 0; i < taken.size(); ++i) model.disks[i] -= taken[i];
  return taken;
}

std::string any_promise(const Model& model, std::mt19937& random) {
  auto at = model.promised.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random() % model.promised.size()));
  return at->first;
}

void unmake(Model& model, const std::string& name) {
  const auto found = model.made.find(name);
  if (found == model.made.end()) return;
  for (std::size_t i = 0; i < found->second.size(); ++i) model.disks[i] += found->second[i];
  model.made.erase(found);
  model.held.erase(name);
}

// More is asked for a volume, made or not: promised if there is room, as the worker does.
void ask_more(Model& model, std::mt19937& random, const std::string& name) {
  const Promise& now = model.promised.at(name);
  const engine::Pool& configured = model.config.pools.at(now.pool);
  const auto cost = [&](Bytes size) {
    return engine::cost_in(Backend::kLvm, configured, size, kExtent);
  };
  Promise wanted = now;
  wanted.size = engine::size_in(Backend::kLvm, configured,
                                now.size + Bytes((1 + random() % 8) * kExtent.count()), kExtent);
  const auto promises = model.promises();
  const auto found = any_room(wanted, model.config, model.inventory(), promises);
  REQUIRE(found.ok());
  const bool made = found->held.count() != 0;
  const Bytes more = made ? cost(wanted.size) - cost(found->held) : cost(wanted.size);
  if (more <= found->free && found->disks_suffice) model.promised.at(name) = wanted;
}

// What a volume that was made has been promised beyond what it has: its extents must be there.
void extend(Model& model, std::mt19937& random, const std::string& name) {
  const Promise& promise = model.promised.at(name);
  if (!model.made.contains(name) || model.held.at(name) >= promise.size) return;
  const auto more = allocate(model, promise, random, model.held.at(name));
  CHECK(more.has_value());
  if (!more) return;
  for (std::size_t i = 0; i < more->size(); ++i) model.made.at(name)[i] += (*more)[i];
  model.held.at(name) = promise.size;
}

void claim(Model& model, std::mt19937& random, int number) {
  const std::string pool = random() % 2 == 0 ? "default" : "other";
  const Bytes asked((1 + random() % 20) * kExtent.count());
  const engine::Pool& configured = model.config.pools.at(pool);
  const Promise wanted{concat("v", number), Backend::kLvm, pool,
                       engine::size_in(Backend::kLvm, configured, asked, kExtent)};
  const auto promises = model.promises();
  const auto found = any_room(wanted, model.config, model.inventory(), promises);
  REQUIRE(found.ok());
  const Bytes cost = engine::cost_in(Backend::kLvm, configured, wanted.size, kExtent);
  if (cost <= found->free && found->disks_suffice) model.promised.emplace(wanted.name, wanted);
}

void step(Model& model, std::mt19937& random, int number) {
  const auto kind = random() % 7;
  if (kind < 2) return claim(model, random, number);
  if (model.promised.empty()) return;
  const std::string name = any_promise(model, random);
  if (kind == 2 && !model.made.contains(name)) {  // the first mount: what was promised is there
    const auto taken = allocate(model, model.promised.at(name), random);
    CHECK(taken.has_value());
    if (taken) {
      model.made[name] = *taken;
      model.held[name] = model.promised.at(name).size;
    }
  }
  if (kind == 5) ask_more(model, random, name);
  if (kind == 6) extend(model, random, name);
  // A mount that failed, and will be tried again: on other disks perhaps, so that a layout which
  // needs several has no promise then.
  const bool linear = model.config.pools.at("default").layout.kind == Layout::Kind::kLinear;
  if (kind == 3 && linear) unmake(model, name);
  if (kind == 4) {  // reclaimed: first the volume, then the promise
    unmake(model, name);
    model.promised.erase(name);
  }
}

}  // namespace

TEST_CASE(
    "no sequence of promises, mounts, growths, failed mounts and removals gives room away twice") {
  const std::vector<Layout> layouts = {
      {}, {Layout::Kind::kRaid1}, {Layout::Kind::kStriped, 2}, {Layout::Kind::kStriped, 3}};
  std::size_t given = 0;
  for (unsigned seed = 1; seed <= 80; ++seed) {
    std::mt19937 random(seed);
    Model model{config_with(layouts[seed % layouts.size()]), {40, 30, 30, 20}, {}, {}, {}};
    for (int number = 0; number < 300; ++number) step(model, random, number);
    given += model.promised.size();
  }
  CHECK(given > 80);  // it did give room away
}

}  // namespace flexlocal::provisioner::test
