#include "flexvolume/engine/quota/shared_volume.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/engine.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

using Programs = std::vector<std::string>;

struct Fixture {
  FakeHost fake;
  NodeConfig config = fake.config();
  Tools tools{config.tools};
  RecordStore volume_records{fake.folder + "/records"};
  RecordStore records = volume_records.of_pools();
  Pool pool;
  const std::string pool_name = "fast";
  VolumeName name = VolumeName::of_pool(pool_name);
  const std::string key = "data/flexlocal-fast";
  const std::string place = "/run/flexlocal-pools/fast";

  Fixture() {
    pool.volume_group = "data";
    pool.quota_size = kGiB;
  }
  Result<std::optional<SharedMount>> ensure(bool make = true) {
    return SharedVolume(parts(), pool_name, pool).ensure(make);
  }
  BackendParts parts() {
    return {fake,
            tools,
            fake,
            fake,
            volume_records,
            fake.folder + "/locks",
            fake.folder + "/groups",
            fake,
            fake.folder};
  }
  Status settle() {
    const auto inventory = Lvm(fake, tools).inventory({"data"});
    REQUIRE(inventory.ok());
    REQUIRE(inventory->shared.size() == 1);
    return SharedVolume(parts(), pool_name, pool).settle(inventory->shared[0], Bytes());
  }
  long count(const char* program) const {
    return std::count(fake.started.begin(), fake.started.end(), program);
  }
  // As after a reboot.
  void unmount() { fake.mounts.clear(); }
  void write_tag(std::string_view state) {
    auto& tags = fake.volumes[key].tags;
    std::erase(tags, std::string(kReadyTag));
    std::erase(tags, std::string(kNewTag));
    tags.emplace_back(state);
  }
  void write_record(RecordState state) {
    auto record = *records.load(name);
    record->state = state;
    REQUIRE(records.save(*record).ok());
  }
};

TEST_CASE_FIXTURE(Fixture, "a pool's file system is made once, tagged, and mounted again") {
  const auto made = ensure();
  REQUIRE(made.ok());
  REQUIRE(made->has_value());
  CHECK((*made)->path == place);
  CHECK(fake.started == Programs{"lvs", "lvcreate", "mkfs.xfs", "lvs", "lvchange", "mount"});
  const auto tags = fake.volumes.at(key).tags;
  CHECK(std::count(tags.begin(), tags.end(), std::string(kReadyTag)) == 1);
  REQUIRE(ensure().ok());
  CHECK(count("mount") == 1);
  unmount();
  REQUIRE(ensure(false).ok());
  CHECK(count("mount") == 2);
  CHECK(count("mkfs.xfs") == 1);
}

TEST_CASE_FIXTURE(Fixture, "a look makes nothing, and leaves no promise") {
  CHECK_FALSE(ensure(false)->has_value());
  CHECK(fake.started == Programs{"lvs"});
  CHECK_FALSE(records.load(name)->has_value());
  fake.kill_before = 3;
  CHECK_THROWS_AS(static_cast<void>(ensure()), Killed);
  fake.kill_before = 0;
  CHECK_FALSE(ensure(false)->has_value());
  CHECK(fake.mounts.empty());
}

// Invariant 2.
TEST_CASE("killed before or after any program, the next call makes the one right file system") {
  for (const bool after : {false, true})
    for (int n = 1; n <= 6; ++n) {
      Fixture f;
      (after ? f.fake.kill_after : f.fake.kill_before) = n;
      CHECK_THROWS_AS(static_cast<void>(f.ensure()), Killed);
      f.fake.kill_before = f.fake.kill_after = 0;
      REQUIRE_MESSAGE(f.ensure().ok(), n, after);
      CHECK(f.fake.volumes.size() == 1);
      CHECK(f.fake.mounts.size() == 1);
      CHECK(f.count("mkfs.xfs") <= 2);
      CHECK(f.fake.volumes.at(f.key).start.starts_with("XFSB"));
      CHECK((*f.records.load(f.name))->state == RecordState::kReady);
    }
}

// LVM's own archive has the metadata of before the tag (man vgcfgrestore).
TEST_CASE_FIXTURE(Fixture, "whatever record and tags say, what carries the file system stays") {
  REQUIRE(ensure().ok());
  unmount();
  const auto keeps_all = [&] {
    REQUIRE(ensure().ok());
    unmount();
    CHECK(count("mkfs.xfs") == 1);
    CHECK(count("lvremove") == 0);
    CHECK(fake.volumes.size() == 1);
  };
  write_tag(kNewTag);
  keeps_all();
  for (const RecordState state : {RecordState::kNew, RecordState::kIntent, RecordState::kPromised})
    for (const std::string_view tag : {kNewTag, kReadyTag}) {
      write_tag(tag);
      write_record(state);
      keeps_all();
    }
  write_tag(kNewTag);
  REQUIRE(records.remove(name).ok());
  keeps_all();
}

// lvcreate was killed before it wiped the extents of a pool of that name that was removed.
TEST_CASE_FIXTURE(Fixture, "the file system of a pool before it is never taken for this one's") {
  REQUIRE(ensure().ok());
  unmount();
  const std::string old = fake.volumes.at(key).start;
  fake.volumes.clear();
  REQUIRE(records.remove(name).ok());
  fake.unwiped_start = old;
  fake.started.clear();
  fake.kill_after = 2;
  CHECK_THROWS_AS(static_cast<void>(ensure()), Killed);
  REQUIRE(fake.started.back() == "lvcreate");
  fake.kill_after = 0;
  fake.unwiped_start.clear();
  REQUIRE(ensure().ok());
  CHECK(count("mkfs.xfs") == 1);
  CHECK(fake.volumes.at(key).start != old);
}

TEST_CASE_FIXTURE(Fixture, "what was ready and cannot be read is refused, and not made anew") {
  REQUIRE(ensure().ok());
  unmount();
  fake.volumes[key].start = std::string(kSuperblockBytes, '\0');
  for (const RecordState state :
       {RecordState::kNew, RecordState::kIntent, RecordState::kPromised}) {
    write_record(state);
    CHECK(ensure().error().code() == ErrorCode::kCorrupt);
  }
  REQUIRE(records.remove(name).ok());
  CHECK(ensure().error().code() == ErrorCode::kCorrupt);
  CHECK(count("mkfs.xfs") == 1);
  CHECK(count("lvremove") == 0);
}

TEST_CASE_FIXTURE(Fixture, "without a record, what carries no file system is not made one") {
  REQUIRE(ensure().ok());
  unmount();
  write_tag(kNewTag);
  REQUIRE(records.remove(name).ok());
  fake.volumes[key].start = std::string(kSuperblockBytes, '\0');
  const auto refused = ensure();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("no record says what it was") != std::string::npos);
  CHECK(count("mkfs.xfs") == 1);
}

TEST_CASE_FIXTURE(Fixture, "a pool that has lost its logical volume does not come back empty") {
  REQUIRE(ensure().ok());
  unmount();
  fake.volumes.clear();
  CHECK(ensure().error().code() == ErrorCode::kCorrupt);
  CHECK(count("lvcreate") == 1);
}

TEST_CASE_FIXTURE(Fixture, "a stranger's logical volume of that name is refused and stays") {
  fake.volumes[key] = FakeVolume{{"somebody=else"}, "theirs", 1};
  CHECK(ensure().error().code() == ErrorCode::kDenied);
  CHECK(ensure(false).error().code() == ErrorCode::kDenied);
  CHECK(fake.volumes.at(key).uuid == "theirs");
}

TEST_CASE_FIXTURE(Fixture, "a failing mkfs leaves nothing") {
  fake.failing = "mkfs.xfs";
  CHECK_FALSE(ensure().ok());
  CHECK(fake.volumes.empty());
  fake.failing.clear();
  CHECK(ensure().ok());
}

TEST_CASE_FIXTURE(Fixture, "a mkfs whose writes are lost is not believed, and leaves nothing") {
  fake.lying = "mkfs.xfs";
  const auto made = ensure();
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().message().find("does the disk lose writes?") != std::string::npos);
  CHECK(fake.volumes.empty());
  CHECK(fake.mounts.empty());
  fake.lying.clear();
  CHECK(ensure().ok());
}

TEST_CASE_FIXTURE(Fixture, "a pool's file system is one that an older kernel can mount, too") {
  const std::string profile = fake.add_mkfs_profile();
  REQUIRE(ensure().ok());
  CHECK(fake.passed("mkfs.xfs", "-c", concat("options=", profile)));
}

TEST_CASE_FIXTURE(Fixture, "it grows to what node.conf says, at once or with its next mount") {
  REQUIRE(ensure().ok());
  pool.quota_size = Bytes(2 * kGiB.count());
  REQUIRE(settle().ok());
  CHECK(fake.volumes[key].size == 2 * kGiB.count());
  CHECK(fake.commands.back().arguments.back() == place);
  unmount();
  pool.quota_size = Bytes(3 * kGiB.count());
  REQUIRE(settle().ok());
  CHECK(count("xfs_growfs") == 1);
  REQUIRE(ensure().ok());
  CHECK(count("xfs_growfs") == 2);
}

TEST_CASE("killed before or after any program of a pool's growth, the next look completes it") {
  for (const bool after : {false, true})
    for (int n = 2; n <= 7; ++n) {
      Fixture f;
      REQUIRE(f.ensure().ok());
      f.pool.quota_size = Bytes(2 * kGiB.count());
      f.fake.started.clear();
      (after ? f.fake.kill_after : f.fake.kill_before) = n;
      CHECK_THROWS_AS(static_cast<void>(f.settle()), Killed);
      f.fake.kill_before = f.fake.kill_after = 0;
      f.fake.started.clear();
      REQUIRE_MESSAGE(f.settle().ok(), n, after);
      CHECK(f.fake.volumes[f.key].size == 2 * kGiB.count());
      CHECK_MESSAGE(f.count("xfs_growfs") == 1, n, after);
      f.fake.started.clear();
      REQUIRE(f.settle().ok());
      CHECK(f.fake.started == Programs{"vgs"});
    }
}

TEST_CASE_FIXTURE(Fixture, "a tag that could not be written is written by the next look") {
  fake.failing = "lvchange";
  REQUIRE(ensure().ok());
  fake.failing.clear();
  REQUIRE(settle().ok());
  const auto tags = fake.volumes.at(key).tags;
  CHECK(std::count(tags.begin(), tags.end(), std::string(kReadyTag)) == 1);
}

TEST_CASE_FIXTURE(Fixture, "a pool that is suspended is resumed before anybody is let in") {
  REQUIRE(ensure().ok());
  fake.volumes[key].suspended = true;
  REQUIRE(ensure().ok());
  CHECK_FALSE(fake.volumes[key].suspended);
}

TEST_CASE_FIXTURE(Fixture,
                  "the inventory has it apart from claims' volumes, and settling grows it") {
  REQUIRE(ensure().ok());
  config.pools["fast"] = pool;
  config.pools["fast"].quota_size = Bytes(2 * kGiB.count());
  Engine engine(fake.host(), config);
  const auto inventory = Lvm(fake, tools).inventory({"data"});
  REQUIRE(inventory.ok());
  CHECK(inventory->volumes.empty());
  REQUIRE(inventory->shared.size() == 1);
  CHECK(inventory->shared[0].ownership->pool == "fast");
  REQUIRE(engine.settle(*inventory).ok());
  CHECK(fake.volumes[key].size == 2 * kGiB.count());
}

TEST_CASE_FIXTURE(Fixture, "its growth leaves claims what was promised to them") {
  REQUIRE(ensure().ok());
  config.pools["fast"] = pool;
  config.pools["fast"].quota_size = Bytes(8 * kGiB.count());
  Engine engine(fake.host(), config);
  VolumeSpec promised = example_spec();
  promised.size = Bytes(3 * kGiB.count());
  REQUIRE(engine.copies().promise(order_of(promised)).ok());
  REQUIRE(fake.group_free == 9 * kGiB.count());
  const auto settle_all = [&] {
    const auto inventory = engine.inventory();
    REQUIRE(inventory.ok());
    REQUIRE(engine.settle(*inventory).ok());
  };
  settle_all();
  CHECK(fake.volumes[key].size == kGiB.count());
  CHECK(fake.logged("a pool's shared file system is not as node.conf says"));
  REQUIRE(engine.copies().withdraw(promised).ok());
  settle_all();
  CHECK(fake.volumes[key].size == 8 * kGiB.count());
}

TEST_CASE_FIXTURE(Fixture, "a pool that a killed call began has the room that it will have") {
  pool.quota_size = Bytes(6 * kGiB.count());
  config.pools["fast"] = pool;
  Engine engine(fake.host(), config);
  const auto room = [&] {
    const auto inventory = engine.inventory();
    REQUIRE(inventory.ok());
    for (const Space& space : inventory->spaces)
      if (space.id == "quota:fast") return space.free;
    return Bytes();
  };
  const Bytes before = room();
  CHECK(before > Bytes(5 * kGiB.count()));
  fake.started.clear();
  fake.kill_after = 2;
  CHECK_THROWS_AS(static_cast<void>(ensure()), Killed);
  fake.kill_after = 0;
  REQUIRE(fake.volumes.contains(key));
  CHECK(room() == before);
}

}  // namespace
}  // namespace flexlocal::engine
