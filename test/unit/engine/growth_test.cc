#include <doctest/doctest.h>

#include <algorithm>

#include "flexvolume/base/text.h"
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
  std::string key = "data/" + spec.name.text();

  Fixture() { REQUIRE(engine.copies().promise(order_of(spec)).ok()); }
  Status mount(bool read_only = false, const std::string& pod = "4f0e") {
    return engine.mount(
        {call_for(spec), fake.volume_folder(spec.name, pod), "shop", pod, read_only});
  }
  Status grow(Bytes size = kLarger) { return engine.grow({call_for(spec), size}); }
  long count(const char* program) const {
    return std::count(fake.started.begin(), fake.started.end(), program);
  }
  void promise(FsType type) {
    REQUIRE(engine.copies().withdraw(spec).ok());
    spec.fs_type = type;
    REQUIRE(engine.copies().promise(order_of(spec)).ok());
  }
  bool is_behind() {
    return (*RecordStore(fake.folder + "/records").load(spec.name))->grow_file_system;
  }
};

TEST_CASE_FIXTURE(Fixture, "a mounted volume grows: first the device, then the file system") {
  REQUIRE(mount().ok());
  fake.started.clear();
  REQUIRE(grow().ok());
  CHECK(fake.started ==
        std::vector<std::string>{"lvs", "dmsetup", "lvextend", "lvs", "dmsetup", "xfs_growfs"});
  CHECK(fake.volumes[key].size == kLarger.count());
}

TEST_CASE_FIXTURE(Fixture, "a file system that did not grow is not said to have grown") {
  REQUIRE(mount().ok());
  fake.lying = "xfs_growfs";
  const auto grown = grow();
  REQUIRE_FALSE(grown.ok());
  CHECK(grown.error().message().find("has 1 MiB of its device's 1 GiB") != std::string::npos);
  CHECK(is_behind());
  fake.lying.clear();
  REQUIRE(grow().ok());
  CHECK_FALSE(is_behind());
}

TEST_CASE_FIXTURE(Fixture, "an XFS may leave what is too little for a group, and no more") {
  REQUIRE(mount().ok());
  fake.left_by_growth = Bytes(256 * kKiB.count());
  REQUIRE(grow().ok());
  CHECK_FALSE(is_behind());
  fake.left_by_growth += Bytes(4 * kKiB.count());
  const auto grown = grow(Bytes(2 * kLarger.count()));
  REQUIRE_FALSE(grown.ok());
  CHECK(grown.error().code() == ErrorCode::kFailed);
  CHECK(is_behind());
}

TEST_CASE_FIXTURE(Fixture, "an ext4 may leave a little behind a whole group, and nothing else") {
  promise(FsType::kExt4);
  REQUIRE(mount().ok());
  const auto grows = [&](std::uint64_t mib, std::uint64_t left) {
    fake.left_by_growth = Bytes(left * kMiB.count());
    const Status grown = grow(Bytes(mib * kMiB.count()));
    CHECK(is_behind() != grown.ok());
    return grown.ok();
  };
  CHECK(grows(1024, 0));
  CHECK(grows(1028, 4));
  CHECK(grows(1032, 8));
  CHECK_FALSE(grows(1036, 12));  // its last group could have begun
  CHECK_FALSE(grows(1040, 4));   // it could have gone on
  CHECK(grows(1044, 0));
}

TEST_CASE_FIXTURE(Fixture, "growing again extends nothing and is success") {
  REQUIRE(mount().ok());
  REQUIRE(grow().ok());
  REQUIRE(grow().ok());
  CHECK(count("lvextend") == 1);
}

TEST_CASE_FIXTURE(Fixture, "an unmounted file system grows with its next mount, once") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  REQUIRE(grow().ok());
  CHECK(count("xfs_growfs") == 0);
  CHECK(is_behind());
  REQUIRE(mount().ok());
  CHECK(count("xfs_growfs") == 1);
  CHECK_FALSE(is_behind());
  fake.mounts.clear();
  REQUIRE(mount().ok());
  CHECK(count("xfs_growfs") == 1);
}

TEST_CASE_FIXTURE(Fixture, "a file system grows through a mount that can be written to") {
  REQUIRE(mount(true, "reader").ok());
  REQUIRE(mount(false, "writer").ok());
  REQUIRE(grow().ok());
  REQUIRE(fake.commands.back().path.ends_with("/xfs_growfs"));
  CHECK(fake.commands.back().arguments.back().find("/pods/writer/") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "an ext4 that did not grow is not said to have grown") {
  promise(FsType::kExt4);
  REQUIRE(mount().ok());
  fake.lying = "resize2fs";
  const auto grown = grow();
  REQUIRE_FALSE(grown.ok());
  CHECK(grown.error().message().find("has 512 MiB of its device's 1 GiB") != std::string::npos);
  CHECK(is_behind());
  fake.lying.clear();
  REQUIRE(grow().ok());
  CHECK_FALSE(is_behind());
}

// resize2fs takes the first mount of the device that it finds.
TEST_CASE_FIXTURE(Fixture,
                  "an ext4 whose tool goes through a reader's mount grows through the writer's") {
  promise(FsType::kExt4);
  REQUIRE(mount(true, "reader").ok());
  REQUIRE(mount(false, "writer").ok());
  fake.failing = "resize2fs";
  REQUIRE(grow().ok());
  REQUIRE(fake.resized.size() == 1);
  CHECK(fake.resized[0].find("/pods/writer/") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "while all its pods only read, a file system waits for one that writes") {
  REQUIRE(mount(true, "reader").ok());
  REQUIRE(grow().ok());
  CHECK(count("xfs_growfs") == 0);
  CHECK(is_behind());
  REQUIRE(mount(true, "another").ok());
  CHECK(count("xfs_growfs") == 0);
  REQUIRE(mount(false, "writer").ok());
  CHECK(count("xfs_growfs") == 1);
  CHECK_FALSE(is_behind());
}

TEST_CASE_FIXTURE(Fixture, "a volume in use where no mount of it is seen is not told as grown") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  fake.volumes[key].open = true;
  const auto grown = grow();
  REQUIRE_FALSE(grown.ok());
  CHECK(grown.error().code() == ErrorCode::kBusy);
  fake.volumes[key].open = false;
  REQUIRE(grow().ok());
  CHECK(is_behind());
}

TEST_CASE_FIXTURE(Fixture, "a mount succeeds though its file system cannot grow, and tries again") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  REQUIRE(grow().ok());
  fake.failing = "xfs_growfs";
  REQUIRE(mount().ok());
  CHECK(is_behind());
  fake.failing.clear();
  fake.mounts.clear();
  REQUIRE(mount().ok());
  CHECK_FALSE(is_behind());
}

TEST_CASE_FIXTURE(Fixture, "a full group is refused with figures, and the volume stays as it was") {
  REQUIRE(mount().ok());
  fake.group_free = 100 * kMiB.count();
  const auto grown = grow();
  REQUIRE_FALSE(grown.ok());
  CHECK(grown.error().code() == ErrorCode::kNoSpace);
  CHECK(grown.error().message().find("100 MiB free, 512 MiB more asked") != std::string::npos);
  CHECK(fake.volumes[key].size == spec.size.count());
  CHECK(count("xfs_growfs") == 0);
}

TEST_CASE_FIXTURE(Fixture, "shrinking below what was decided first is refused") {
  REQUIRE(mount().ok());
  CHECK(grow(Bytes(spec.size.count() - 1)).error().code() == ErrorCode::kInvalid);
}

TEST_CASE_FIXTURE(Fixture,
                  "what is not made, or another copy, or has lost its tags does not grow") {
  CHECK(grow().error().code() == ErrorCode::kNotFound);
  REQUIRE(mount().ok());
  VolumeSpec other = spec;
  other.copy = "0000000000000000";
  CHECK(engine.grow({call_for(other), kLarger}).error().code() == ErrorCode::kDenied);
  std::erase(fake.volumes[key].tags, std::string(kOwnerTag));
  CHECK(grow().error().code() == ErrorCode::kDenied);
  CHECK(fake.volumes[key].size == spec.size.count());
}

// Invariant 2.
TEST_CASE("killed before or after any program of a growth, the same call completes it") {
  for (const bool mounted : {true, false}) {
    for (const bool after : {false, true}) {
      for (int n = 1; n <= 3; ++n) {
        Fixture f;
        REQUIRE(f.mount().ok());
        if (!mounted) f.fake.mounts.clear();
        f.fake.started.clear();
        (after ? f.fake.kill_after : f.fake.kill_before) = n;
        try {
          const bool grown = f.grow().ok();
          CHECK(grown);
        } catch (const Killed&) {
        }
        f.fake.kill_before = f.fake.kill_after = 0;
        REQUIRE_MESSAGE(f.grow().ok(), n, after);
        CHECK(f.fake.volumes[f.key].size == kLarger.count());
        CHECK(f.is_behind() == !mounted);
      }
    }
  }
}

}  // namespace
}  // namespace flexlocal::engine
