// Tools that fail in ways of their own: they hang, or say that all went well when it did not.
#include <doctest/doctest.h>

#include <algorithm>

#include "flexvolume/base/text.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

struct Faulty {
  FakeHost fake;
  NodeConfig config = fake.config();
  Engine engine{fake.host(), config};
  VolumeSpec spec = example_spec();

  Faulty() { REQUIRE(engine.copies().promise(order_of(spec)).ok()); }
  Status mount() {
    return engine.mount({call_for(spec), fake.volume_folder(spec.name), "shop", "4f0e"});
  }
  bool has_record() { return was_begun(fake, spec); }
  int formats() const {
    return static_cast<int>(std::count(fake.started.begin(), fake.started.end(), "mkfs.xfs"));
  }
};

TEST_CASE("an lvcreate that hangs is waited for once; the next call finds what it left") {
  for (const bool after : {false, true}) {
    Faulty f;
    f.fake.hanging = "lvcreate";
    f.fake.hangs_after_effect = after;
    const auto mounted = f.mount();
    REQUIRE_FALSE(mounted.ok());
    CHECK(mounted.error().code() == ErrorCode::kDeadline);
    CHECK(mounted.error().message().find("`lsof /run/lock/lvm`") != std::string::npos);
    CHECK(f.fake.started == std::vector<std::string>{"lvcreate"});
    CHECK(f.fake.mounts.empty());
    f.fake.hanging.clear();
    REQUIRE(f.mount().ok());
    CHECK(f.fake.volumes.size() == 1);
    CHECK(f.formats() == 1);
  }
}

TEST_CASE_FIXTURE(Faulty, "an lvs that hangs leaves the record of what was begun") {
  fake.hanging = "lvcreate";
  fake.hangs_after_effect = true;
  REQUIRE_FALSE(mount().ok());
  fake.hanging = "lvs";
  fake.started.clear();
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().code() == ErrorCode::kDeadline);
  CHECK(fake.started == std::vector<std::string>{"lvs"});
  CHECK(has_record());
  fake.hanging.clear();
  REQUIRE(mount().ok());
  CHECK(fake.volumes.size() == 1);
}

TEST_CASE_FIXTURE(Faulty, "an mkfs that hangs leaves nothing") {
  fake.hanging = "mkfs.xfs";
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().code() == ErrorCode::kDeadline);
  CHECK(fake.volumes.empty());
  CHECK_FALSE(has_record());
}

TEST_CASE_FIXTURE(Faulty, "an mkfs whose writes are lost is not believed, and leaves nothing") {
  fake.lying = "mkfs.xfs";
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().message().find("does the disk lose writes?") != std::string::npos);
  CHECK(fake.volumes.empty());
  CHECK(fake.mounts.empty());
  CHECK_FALSE(has_record());
}

TEST_CASE_FIXTURE(Faulty,
                  "an lvremove that hangs while a failed call is undone is for the next call") {
  fake.failing = "mkfs.xfs";
  fake.hanging = "lvremove";
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().message().find("mkfs.xfs failed") != std::string::npos);
  CHECK(has_record());
  fake.failing.clear();
  fake.hanging.clear();
  REQUIRE(mount().ok());
  CHECK(fake.volumes.size() == 1);
}

TEST_CASE_FIXTURE(Faulty,
                  "an lvchange that hangs is waited for once, and nothing is run after it") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  fake.volumes.begin()->second.active = false;
  fake.hanging = "lvchange";
  fake.started.clear();
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().code() == ErrorCode::kDeadline);
  REQUIRE_FALSE(fake.started.empty());
  CHECK(fake.started.back() == "lvchange");
  CHECK(std::count(fake.started.begin(), fake.started.end(), "lvchange") == 1);
}

TEST_CASE_FIXTURE(Faulty,
                  "what the kernel refuses to mount is not formatted, and a copy is named") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  fake.failing = "mount";
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().code() == ErrorCode::kCorrupt);
  CHECK(mounted.error().message().find("not formatted again") != std::string::npos);
  CHECK(mounted.error().message().find("a copy of the volume is mounted") != std::string::npos);
  CHECK(formats() == 1);
}

}  // namespace
}  // namespace flexlocal::engine
