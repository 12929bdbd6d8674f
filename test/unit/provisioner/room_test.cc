#include "provisioner/room.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner::test {
namespace {

const Bytes kExtent(4 * kMiB.count());

engine::VolumeGroup group_of(std::uint64_t free_mib, const std::string& name = "vg") {
  return {name, kGiB, Bytes(free_mib * kMiB.count()), kExtent};
}

engine::LogicalVolume volume_of(const std::string& name, const std::string& group = "vg") {
  engine::LogicalVolume volume;
  volume.group = group;
  volume.name = name;
  return volume;
}

Promise promise_of(const std::string& name, std::uint64_t mib, const std::string& group = "vg") {
  return {name, group, Bytes(mib * kMiB.count())};
}

std::uint64_t free_mib(const engine::Inventory& inventory, const std::vector<Promise>& promises) {
  return free_space(inventory, inventory.groups.front(), promises).count() / kMiB.count();
}

}  // namespace

TEST_CASE("without promises all that the group has free is free") {
  CHECK(free_mib({{group_of(100)}, {}}, {}) == 100);
}

TEST_CASE("a promise takes its room before its volume is made, and counts once") {
  const engine::Inventory inventory{{group_of(100)}, {}};
  CHECK(free_mib(inventory, {promise_of("a", 40)}) == 60);
  CHECK(free_mib(inventory, {promise_of("a", 40), promise_of("a", 40)}) == 60);
  CHECK(free_mib(inventory, {promise_of("a", 40), promise_of("b", 40)}) == 20);
}

TEST_CASE("a volume that is on the disk already has been taken from the group") {
  const engine::Inventory inventory{{group_of(60)}, {volume_of("a")}};
  CHECK(free_mib(inventory, {promise_of("a", 40)}) == 60);
}

TEST_CASE("what is promised of, or made on, another group does not count") {
  const engine::Inventory inventory{{group_of(100)}, {volume_of("a", "other")}};
  CHECK(free_mib(inventory, {promise_of("b", 40, "other")}) == 100);
  // The name is taken on the other group only, so here its room is still to be taken.
  CHECK(free_mib(inventory, {promise_of("a", 40)}) == 60);
}

TEST_CASE("a promise is counted in whole extents, as LVM takes it") {
  const engine::Inventory inventory{{group_of(100)}, {}};
  const Promise odd{"a", "vg", Bytes(1)};
  CHECK(free_mib(inventory, {odd}) == 96);
}

TEST_CASE("promises beyond what is free leave nothing, and never wrap") {
  const engine::Inventory inventory{{group_of(100)}, {}};
  CHECK(free_mib(inventory, {promise_of("a", 101)}) == 0);
  const Promise huge{"b", "vg", Bytes(UINT64_MAX)};
  CHECK(free_mib(inventory, {huge, promise_of("a", 1)}) == 0);
}

namespace {

// The model: a group of whole extents, volumes that are promised, made, unmade (by a call that
// failed), and gone. The rule under test: whoever is given room finds it when the volume is made.
struct Model {
  std::uint64_t capacity;                         // extents
  std::map<std::string, std::uint64_t> promised;  // by volume
  std::map<std::string, std::uint64_t> made;

  std::uint64_t free() const {
    std::uint64_t taken = 0;
    for (const auto& [name, size] : made) taken += size;
    REQUIRE(taken <= capacity);
    return capacity - taken;
  }
  engine::Inventory inventory() const {
    engine::Inventory taken{{group_of(free() * 4)}, {}};
    for (const auto& [name, size] : made) taken.volumes.push_back(volume_of(name));
    return taken;
  }
  std::vector<Promise> promises() const {
    std::vector<Promise> out;
    for (const auto& [name, size] : promised) out.push_back(promise_of(name, size * 4));
    return out;
  }
};

std::string any_of(const std::map<std::string, std::uint64_t>& volumes, std::mt19937& random) {
  auto at = volumes.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random() % volumes.size()));
  return at->first;
}

void step(Model& model, std::mt19937& random, int number) {
  switch (random() % 5) {
    case 0:
    case 1: {  // a claim
      const std::uint64_t size = 1 + random() % 20;
      const Bytes room =
          free_space(model.inventory(), group_of(model.free() * 4), model.promises());
      if (Bytes(size * kExtent.count()) <= room) model.promised[concat("v", number)] = size;
      break;
    }
    case 2:  // the first mount: what was promised must be there
      if (!model.promised.empty()) {
        const std::string name = any_of(model.promised, random);
        if (!model.made.contains(name)) CHECK(model.promised[name] <= model.free());
        model.made[name] = model.promised[name];
      }
      break;
    case 3:  // a mount that failed removes what it made, and will be tried again
      if (!model.made.empty()) {
        const std::string name = any_of(model.made, random);
        if (model.promised.contains(name)) model.made.erase(name);
      }
      break;
    default:  // reclaimed: first the volume, then the promise
      if (!model.promised.empty()) {
        const std::string name = any_of(model.promised, random);
        model.made.erase(name);
        model.promised.erase(name);
      }
  }
}

}  // namespace

TEST_CASE("no sequence of promises, mounts, failed mounts and removals gives room away twice") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    Model model{64, {}, {}};
    for (int number = 0; number < 300; ++number) step(model, random, number);
    std::uint64_t promised = 0;
    for (const auto& [name, size] : model.promised) promised += size;
    CHECK(promised <= model.capacity);
  }
}

}  // namespace flexlocal::provisioner::test
