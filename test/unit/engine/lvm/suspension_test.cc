#include <doctest/doctest.h>

#include <algorithm>

#include "flexvolume/engine/engine.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

struct Fixture {
  FakeHost fake;
  NodeConfig config = fake.config();
  Engine engine{fake.host(), config};
  VolumeSpec spec = example_spec();
  std::string key = "data/" + spec.name.text();

  Fixture() {
    REQUIRE(engine.copies().promise(order_of(spec)).ok());
    REQUIRE(mount().ok());
    fake.started.clear();
  }
  Status mount(const std::string& pod = "4f0e") {
    return engine.mount({call_for(spec), fake.volume_folder(spec.name, pod), "shop", pod, false});
  }
  Status unmount() { return engine.unmount(fake.volume_folder(spec.name)); }
  void suspend() { fake.volumes[key].suspended = true; }
  bool is_suspended() { return fake.volumes[key].suspended; }
  bool has_committed_table() {
    return fake.volumes[key].device_size == 0 && fake.volumes[key].inactive_size == 0;
  }
  void leave_table() { fake.volumes[key].inactive_size = 2 * kGiB.count(); }
  long count(const char* program) const {
    return std::count(fake.started.begin(), fake.started.end(), program);
  }
};

TEST_CASE_FIXTURE(Fixture, "a suspended volume is resumed before it is mounted once more") {
  suspend();
  REQUIRE(mount("second").ok());
  CHECK_FALSE(is_suspended());
  CHECK(fake.mounts.size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "a volume that stays suspended is not mounted, and the call says why") {
  suspend();
  fake.failing = "lvchange";
  const Status mounted = mount("second");
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().message().find("killed command left") != std::string::npos);
  CHECK(fake.mounts.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a suspended volume is resumed before its last unmount") {
  suspend();
  REQUIRE(unmount().ok());
  CHECK_FALSE(is_suspended());
  CHECK(fake.mounts.empty());
}

TEST_CASE_FIXTURE(Fixture, "a volume that stays suspended is not unmounted: that would wait") {
  suspend();
  fake.failing = "lvchange";
  CHECK_FALSE(unmount().ok());
  CHECK(fake.mounts.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "LVM that says it resumed and did not is not believed") {
  suspend();
  fake.lying = "lvchange";
  const Status unmounted = unmount();
  REQUIRE_FALSE(unmounted.ok());
  CHECK(unmounted.error().code() == ErrorCode::kBusy);
  CHECK(fake.mounts.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "the daemon does not say that it resumed what is suspended still") {
  suspend();
  fake.lying = "lvchange";
  CHECK_FALSE(engine.resume_suspended().ok());
  CHECK_FALSE(fake.logged("finished what a killed LVM command had left of a volume's device"));
}

TEST_CASE_FIXTURE(Fixture, "an unmount of a volume that is not suspended starts no program") {
  REQUIRE(unmount().ok());
  CHECK(fake.started.empty());
}

TEST_CASE_FIXTURE(Fixture, "a growth whose lvextend left the device suspended resumes it") {
  const Bytes size{1024 * kMiB.count()};
  SUBCASE("killed by somebody") { fake.failing = "lvextend"; }
  SUBCASE("killed for its deadline") { fake.hanging = "lvextend"; }
  fake.leaves_table = true;
  CHECK_FALSE(engine.grow({call_for(spec), size}).ok());
  CHECK_FALSE(is_suspended());
  CHECK(has_committed_table());
  fake.failing = fake.hanging = "";
  fake.leaves_table = false;
  CHECK(engine.grow({call_for(spec), size}).ok());
}

TEST_CASE_FIXTURE(Fixture, "the daemon's look resumes what is ours, and starts nothing else") {
  REQUIRE(engine.resume_suspended().ok());
  CHECK(fake.started.empty());
  suspend();
  REQUIRE(engine.resume_suspended().ok());
  CHECK_FALSE(is_suspended());
  CHECK(fake.logged("finished what a killed LVM command had left of a volume's device"));
}

TEST_CASE_FIXTURE(Fixture, "the daemon's look leaves a stranger's volume suspended") {
  fake.volumes[key].tags.clear();
  suspend();
  REQUIRE(engine.resume_suspended().ok());
  CHECK(is_suspended());
  CHECK(count("lvchange") == 0);
}

TEST_CASE_FIXTURE(Fixture, "a group that no pool is on is no reason to ask LVM") {
  // Two hyphens are one within a name: "data-" is another group than "data".
  for (const char* group : {"other", "dat", "data-pvc"}) {
    config.pools["default"].volume_group = group;
    suspend();
    REQUIRE(engine.resume_suspended().ok());
    CHECK(fake.started.empty());
  }
}

TEST_CASE_FIXTURE(Fixture, "a hyphen in a group's name is two of device-mapper's") {
  fake.volumes["data/-other"].suspended = true;
  REQUIRE(engine.resume_suspended().ok());
  CHECK(fake.started.empty());  // that is group "data-other", on which no pool is
}

TEST_CASE_FIXTURE(Fixture, "one that cannot be resumed is told") {
  suspend();
  fake.failing = "lvchange";
  CHECK_FALSE(engine.resume_suspended().ok());
}

TEST_CASE_FIXTURE(Fixture, "a suspended device of another volume's uuid is not resumed") {
  suspend();
  auto volume = fake.volumes.extract(key);
  volume.mapped().uuid = "another";
  fake.volumes.insert(std::move(volume));
  CHECK_FALSE(mount("second").ok());
  CHECK(count("lvchange") == 0);
}

TEST_CASE_FIXTURE(Fixture, "a table that was not committed is never what is left") {
  suspend();
  leave_table();
  SUBCASE("after a mount") { REQUIRE(mount("second").ok()); }
  SUBCASE("after an unmount") { REQUIRE(unmount().ok()); }
  SUBCASE("after the daemon's look") { REQUIRE(engine.resume_suspended().ok()); }
  CHECK_FALSE(is_suspended());
  CHECK(has_committed_table());
}

TEST_CASE_FIXTURE(Fixture, "a table that waits for the next resume is gone before lvextend") {
  leave_table();
  REQUIRE(engine.grow({call_for(spec), Bytes(1024 * kMiB.count())}).ok());
  CHECK(has_committed_table());
  const auto at = [&](const char* program) {
    return std::find(fake.started.begin(), fake.started.end(), program);
  };
  CHECK(at("lvchange") < at("lvextend"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a table that waits for the next resume is gone with the daemon's tidying") {
  leave_table();
  const auto inventory = engine.inventory();
  REQUIRE(inventory.ok());
  REQUIRE(engine.settle(*inventory).ok());
  CHECK(has_committed_table());
}

TEST_CASE_FIXTURE(Fixture, "a device that is larger than its volume is mended before it is wiped") {
  spec.on_delete = OnDelete::kDiscard;
  REQUIRE(unmount().ok());
  fake.volumes[key].device_size = 2 * kGiB.count();
  SUBCASE("and wiped then") { CHECK(engine.remove(spec)->done); }
  SUBCASE("and not wiped where that fails") {
    fake.failing = "lvchange";
    CHECK_FALSE(engine.remove(spec).ok());
    CHECK(count("blkdiscard") == 0);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a device that is larger than its volume is mended by the daemon's tidying") {
  const auto inventory = engine.inventory();
  REQUIRE(inventory.ok());
  fake.volumes[key].device_size = 2 * kGiB.count();
  REQUIRE(engine.settle(*inventory).ok());
  CHECK(has_committed_table());
}

TEST_CASE_FIXTURE(Fixture,
                  "of a refresh that was killed between its two, the tidying finishes the rest") {
  suspend();
  leave_table();
  fake.kill_after = 5;  // dmsetup, lvs twice, dmsetup and lvchange
  CHECK_THROWS_AS(static_cast<void>(engine.resume_suspended()), Killed);
  REQUIRE(fake.started.back() == "lvchange");
  CHECK_FALSE(has_committed_table());
  const auto inventory = engine.inventory();
  REQUIRE(inventory.ok());
  REQUIRE(engine.settle(*inventory).ok());
  CHECK(has_committed_table());
}

TEST_CASE_FIXTURE(Fixture, "a first refresh that fails on the table that was left is no failure") {
  suspend();  // the kernel drops a loaded table that it cannot take up
  fake.failing = "lvchange";
  fake.failures = 1;
  REQUIRE(engine.resume_suspended().ok());
  CHECK_FALSE(is_suspended());
}

TEST_CASE_FIXTURE(Fixture, "a thin pool is resumed before its volume") {
  config.pools["default"].thin_pool = "tp";
  fake.volumes[key].thin_pool = "tp";
  fake.thin_pools["tp"] = true;
  suspend();
  REQUIRE(engine.resume_suspended().ok());
  CHECK_FALSE(fake.thin_pools["tp"]);
  CHECK_FALSE(is_suspended());
}

TEST_CASE_FIXTURE(
    Fixture,
    "a thin pool that node.conf does not name is left alone, unless it is below a volume") {
  fake.thin_pools["theirs"] = true;
  REQUIRE(engine.resume_suspended().ok());
  CHECK(fake.thin_pools["theirs"]);
  fake.volumes[key].thin_pool = "theirs";
  REQUIRE(engine.resume_suspended().ok());
  CHECK_FALSE(fake.thin_pools["theirs"]);
}

TEST_CASE_FIXTURE(Fixture,
                  "what is at the volume's path and no device of LVM's is not taken for it") {
  fake.is_mapped = false;
  CHECK_FALSE(engine.grow({call_for(spec), Bytes(1024 * kMiB.count())}).ok());
  CHECK(count("lvextend") == 0);
  REQUIRE(unmount().ok());
  SUBCASE("where it would be wiped") {
    spec.on_delete = OnDelete::kZero;
    CHECK_FALSE(engine.remove(spec).ok());
    CHECK(count("blkdiscard") == 0);
    CHECK(fake.volumes.contains(key));
  }
  SUBCASE("and does not keep the volume from being removed") {
    spec.on_delete = OnDelete::kNone;
    for (std::string& tag : fake.volumes[key].tags)
      if (tag.starts_with("flexlocal.io/on-delete=")) tag = "flexlocal.io/on-delete=none";
    CHECK(engine.remove(spec).ok());
    CHECK_FALSE(fake.volumes.contains(key));
  }
}

TEST_CASE_FIXTURE(Fixture, "an lvextend that did nothing is not believed") {
  fake.lying = "lvextend";
  CHECK_FALSE(engine.grow({call_for(spec), Bytes(1024 * kMiB.count())}).ok());
}

}  // namespace
}  // namespace flexlocal::engine
