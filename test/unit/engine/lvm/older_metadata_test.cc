// LVM's metadata that somebody put back to what they were before.
#include <doctest/doctest.h>

#include <algorithm>

#include "flexvolume/engine/engine.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

constexpr Bytes kLarger{1024 * kMiB.count()};

struct Fixture {
  FakeHost fake;
  NodeConfig config = fake.config();
  Engine engine{fake.host(), config};
  VolumeSpec spec = example_spec();
  VolumeSpec other = another_spec();
  std::string key = "data/" + spec.name.text();

  Fixture() {
    REQUIRE(engine.promise(spec).ok());
    REQUIRE(engine.promise(other).ok());
    REQUIRE(mount(spec).ok());
  }
  static VolumeSpec another_spec() {
    VolumeSpec another = example_spec();
    another.name = *VolumeName::of_claim("99999999-2222-4333-8444-555555555555");
    return another;
  }
  Status mount(const VolumeSpec& of) {
    return engine.mount({of, grant_for(of), fake.volume_folder(of.name), "shop", "4f0e", false});
  }
  // As after a growth that LVM's metadata do not have any more.
  void run_larger() { fake.volumes[key].device_size = kLarger.count(); }
  static bool is_refusal(const Status& status) {
    return !status.ok() && status.error().code() == ErrorCode::kCorrupt &&
           status.error().message().find("vgcfgrestore --list data") != std::string::npos;
  }
  long count(const char* program) const {
    return std::count(fake.started.begin(), fake.started.end(), program);
  }
};

TEST_CASE_FIXTURE(Fixture, "the group of a volume that runs larger than LVM says offers nothing") {
  auto inventory = engine.inventory();
  REQUIRE(inventory.ok());
  CHECK(inventory->outdated.empty());
  run_larger();
  inventory = engine.inventory();
  REQUIRE(inventory.ok());
  CHECK(inventory->outdated.contains("data"));
  REQUIRE(inventory->spaces.size() == 1);
  CHECK(inventory->spaces[0].free == Bytes());
  CHECK(inventory->groups[0].free == Bytes());
}

TEST_CASE_FIXTURE(Fixture, "once the daemon has seen that, no volume is made in the group") {
  run_larger();
  REQUIRE(engine.inventory().ok());
  fake.started.clear();
  CHECK(is_refusal(mount(other)));
  CHECK(count("lvcreate") == 0);
  fake.volumes[key].device_size = 0;
  REQUIRE(engine.inventory().ok());
  CHECK(mount(other).ok());
}

TEST_CASE_FIXTURE(Fixture, "no volume is grown or removed in it, seen or not") {
  REQUIRE(mount(other).ok());
  run_larger();
  CHECK(is_refusal(engine.grow(other, kLarger)));
  CHECK(count("lvextend") == 0);
  fake.mounts.clear();
  const auto removal = engine.remove(other);
  REQUIRE_FALSE(removal.ok());
  CHECK(is_refusal(removal.error()));
  CHECK(count("lvremove") == 0);
  CHECK(fake.volumes.size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "a record is not made of what only older metadata bring back") {
  REQUIRE(mount(other).ok());
  REQUIRE(engine.settle(*engine.inventory()).ok());
  RecordStore records(fake.folder + "/records");
  REQUIRE(records.remove(other.name).ok());
  run_larger();
  (void)engine.settle(*engine.inventory());
  CHECK_FALSE(records.load(other.name)->has_value());
  fake.volumes[key].device_size = 0;
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(records.load(other.name)->has_value());
}

TEST_CASE_FIXTURE(Fixture, "where nobody can tell how much of a larger device is used, it stays") {
  run_larger();
  fake.mounts.clear();
  fake.volumes[key].open = true;
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(count("lvchange") == 0);
  CHECK(fake.logged("what a killed LVM command left is not finished"));
  fake.volumes[key].open = false;
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(fake.volumes[key].device_size == 0);
}

TEST_CASE_FIXTURE(Fixture, "a volume whose device LVM does not know is not taken for gone") {
  fake.mounts.clear();
  fake.volumes[key].unknown = true;
  const auto removal = engine.remove(spec);
  REQUIRE_FALSE(removal.ok());
  CHECK(is_refusal(removal.error()));
  CHECK(was_begun(fake, spec));
  fake.volumes[key].unknown = false;
  CHECK(engine.remove(spec).ok());
}

}  // namespace
}  // namespace flexlocal::engine
