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
    REQUIRE(engine.promise(spec).ok());
    REQUIRE(mount().ok());
    fake.started.clear();
  }
  Status mount(const std::string& pod = "4f0e") {
    return engine.mount(
        {spec, grant_for(spec), fake.volume_folder(spec.name, pod), "shop", pod, false});
  }
  Status unmount() { return engine.unmount(fake.volume_folder(spec.name)); }
  void suspend() { fake.volumes[key].suspended = true; }
  bool is_suspended() { return fake.volumes[key].suspended; }
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
  CHECK(mounted.error().message().find("is suspended") != std::string::npos);
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
  CHECK_FALSE(fake.logged("resumed a device that was left suspended"));
}

TEST_CASE_FIXTURE(Fixture, "an unmount of a volume that is not suspended starts no program") {
  REQUIRE(unmount().ok());
  CHECK(fake.started.empty());
}

TEST_CASE_FIXTURE(Fixture, "a growth whose lvextend left the device suspended resumes it") {
  const Bytes size{1024 * kMiB.count()};
  SUBCASE("killed by somebody") { fake.failing = "lvextend"; }
  SUBCASE("killed for its deadline") { fake.hanging = "lvextend"; }
  fake.suspends_on_lvextend = true;
  CHECK_FALSE(engine.grow({spec, grant_for(spec), size}).ok());
  CHECK_FALSE(is_suspended());
  fake.failing = fake.hanging = "";
  fake.suspends_on_lvextend = false;
  CHECK(engine.grow({spec, grant_for(spec), size}).ok());
}

TEST_CASE_FIXTURE(Fixture, "the daemon's look resumes what is ours, and starts nothing else") {
  REQUIRE(engine.resume_suspended().ok());
  CHECK(fake.started.empty());
  suspend();
  REQUIRE(engine.resume_suspended().ok());
  CHECK_FALSE(is_suspended());
  CHECK(fake.logged("resumed a device that was left suspended"));
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

TEST_CASE_FIXTURE(Fixture, "one that cannot be resumed is told") {
  suspend();
  fake.failing = "lvchange";
  const Status resumed = engine.resume_suspended();
  REQUIRE_FALSE(resumed.ok());
  CHECK(resumed.error().message().find("is suspended") != std::string::npos);
}

}  // namespace
}  // namespace flexlocal::engine
