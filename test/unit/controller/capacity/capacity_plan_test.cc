#include "provisioner/controller/capacity/capacity_plan.h"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <random>

#include "flexvolume/base/text.h"
#include "provisioner/accounting/accounts.h"
#include "provisioner/controller/claims/claim_plan.h"

namespace flexlocal::provisioner::test {
namespace {

using engine::Backend;
using engine::Layout;

const Bytes kExtent(4 * kMiB.count());
const std::string kPool = "default";

Bytes mib(std::uint64_t count) { return Bytes(count * kMiB.count()); }

// A pool on disks with so much free each, and what is promised of it.
struct Disks {
  engine::NodeConfig config;
  engine::Inventory inventory;
  std::vector<Promise> promises;
  NodeBudget budget{Bytes(1024 * kGiB.count())};

  Disks(Layout layout, const std::vector<Bytes>& disks) {
    config.pools[kPool] = {.volume_group = "vg",
                           .layout = layout,
                           .thin_pool = "pool0",
                           .quota_path = "/srv/quota",
                           .quota_size = {}};
    Bytes free;
    for (const Bytes disk : disks) free += disk;
    inventory.spaces = {{"group:vg", free, free, kExtent, disks},
                        {"thin:vg/pool0", free, free, kExtent, {}},
                        {"quota:default", free, free, Bytes(4096), {}}};
  }

  Result<PoolRoom> room(Backend backend, Bytes size) const {
    return accounts()->room({"", backend, kPool, size}, "");
  }
  Bytes given() const { return accounts()->given(kPool, "", ""); }
  std::unique_ptr<Accounts> accounts() const {
    auto made = std::make_unique<Accounts>(config);
    made->see(inventory);
    for (const Promise& promise : promises) made->promise(promise);
    return made;
  }
  Bytes largest(const ClassParameters& parameters) const {
    return largest_volume(parameters, budget, given(),
                          [&](Bytes size) { return room(parameters.backend, size); });
  }
  // What ClaimWorker says to a claim of that size.
  bool accepts(const ClassParameters& parameters, Bytes size) const {
    const Order order{*engine::VolumeName::of_claim("11111111-2222-3333-4444-555555555555"),
                      parameters, size};
    const auto found = room(parameters.backend, size);
    const auto fitting = found ? fit(order, "a", *found) : Result<Bytes>(found.error());
    return fitting &&
           keep_budget(order, "a", {budget, parameters.disk_per_ram, given()}, *fitting).ok();
  }
};

std::vector<Bytes> none() { return {}; }

}  // namespace

TEST_CASE("the largest that fits is found, however many there are") {
  for (const std::uint64_t limit : {0U, 1U, 2U, 3U, 7U, 8U, 1000U}) {
    const auto fits = [&](Bytes size) { return size.count() <= limit * 10; };
    CHECK(largest_that_fits(kMostBytes, Bytes(10), fits) == Bytes(limit * 10));
    CHECK(largest_that_fits(Bytes(55), Bytes(10), fits) == Bytes(std::min(limit, 5UL) * 10));
  }
  const auto all = [](Bytes) { return true; };
  CHECK(largest_that_fits(kMostBytes, Bytes(1), all) == kMostBytes);
  CHECK(largest_that_fits(Bytes(7), Bytes(0), all) == Bytes(7));
}

TEST_CASE("a class has what its layout leaves of the pool, in whole extents") {
  ClassParameters lvm;
  CHECK(Disks({}, {mib(1027)}).largest(lvm) == mib(1024));
  const Layout raid1{Layout::Kind::kRaid1};
  const Bytes mirrored = Disks(raid1, {mib(1024), mib(512)}).largest(lvm);
  CHECK(mirrored < mib(512));
  CHECK(mirrored > mib(490));
  CHECK(Disks(raid1, {mib(1024)}).largest(lvm) == Bytes(0));
}

TEST_CASE("a class has no more than is left of the RAM budget, nor where nothing is known of RAM") {
  Disks disks({}, {mib(100'000)});
  disks.budget.memory = kGiB;
  disks.promises = {{"a", Backend::kLvm, kPool, mib(1000)}};
  ClassParameters lvm;
  const Bytes budget = *disks.budget.limit({});
  CHECK(disks.largest(lvm) ==
        Bytes((budget - mib(1000)).count() / kExtent.count() * kExtent.count()));
  lvm.disk_per_ram = Ratio();
  CHECK(disks.largest(lvm) == mib(99'000));
  lvm.disk_per_ram = std::nullopt;
  disks.budget.memory = std::nullopt;
  CHECK(disks.largest(lvm) == Bytes(0));
}

TEST_CASE("a class whose pool is not here has no room") {
  Disks disks({}, {mib(1024)});
  ClassParameters lvm;
  lvm.pool = "fast";
  const auto nowhere = [](Bytes) -> Result<PoolRoom> {
    return Error(ErrorCode::kNotFound, "pool \"fast\" is not here");
  };
  CHECK(largest_volume(lvm, disks.budget, {}, nowhere) == Bytes(0));
}

// Invariant: what is told is what would be accepted, over random disks, promises and layouts.
TEST_CASE("what is told is accepted, and one unit more is not") {
  std::mt19937 random(20);
  const auto up_to = [&](unsigned most) { return static_cast<unsigned>(random() % (most + 1)); };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Bytes> sizes(1 + up_to(3));
    for (Bytes& disk : sizes) disk = mib(4 * up_to(400));
    const Layout layout = up_to(2) == 0   ? Layout{}
                          : up_to(1) == 0 ? Layout{Layout::Kind::kRaid1}
                                          : Layout{Layout::Kind::kStriped, 2};
    Disks disks(layout, sizes);
    if (up_to(1) == 0) disks.budget.memory = mib(up_to(60));
    for (unsigned i = up_to(3); i > 0; --i)
      disks.promises.push_back({concat("p", i), Backend::kLvm, kPool, mib(1 + up_to(200))});
    ClassParameters parameters;
    parameters.backend = std::array{Backend::kLvm, Backend::kThin, Backend::kQuota}[up_to(2)];
    const Bytes unit = parameters.backend == Backend::kQuota ? Bytes(4096) : kExtent;
    const Bytes told = disks.largest(parameters);
    CAPTURE(round);
    if (told != Bytes(0)) CHECK(disks.accepts(parameters, told));
    CHECK_FALSE(disks.accepts(parameters, told + unit));
  }
}

TEST_CASE("what was taken is told, whatever it is; what became free when it is worth it") {
  CHECK(must_tell(mib(1000), mib(999), none));
  CHECK(must_tell(mib(1000), Bytes(0), none));
  CHECK_FALSE(must_tell(mib(1000), mib(1000), none));
  CHECK_FALSE(must_tell(mib(1000), mib(1009), none));
  CHECK(must_tell(mib(1000), mib(1011), none));
  CHECK(must_tell(Bytes(0), Bytes(1), none));
}

TEST_CASE("what became free is told when it is what a claim waits for") {
  const auto waiting = [](Bytes size) {
    return [size] { return std::vector<Bytes>{mib(5), size}; };
  };
  CHECK(must_tell(mib(1000), mib(1001), waiting(mib(1001))));
  CHECK_FALSE(must_tell(mib(1000), mib(1001), waiting(mib(1002))));
  CHECK_FALSE(must_tell(mib(1000), mib(1001), waiting(mib(1000))));
}

}  // namespace flexlocal::provisioner::test
