#include "flexvolume/engine/engine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "flexvolume/base/text.h"
#include "test/unit/engine/engine_fixture.h"

namespace flexlocal::engine {
namespace {

using Fixture = EngineFixture;

TEST_CASE_FIXTURE(Fixture, "a first mount runs lvcreate and mkfs, nothing else") {
  REQUIRE(mount().ok());
  CHECK(fake.started == Programs{"lvcreate", "mkfs.xfs"});
  CHECK(recorded() == RecordState::kReady);
  REQUIRE(fake.mounts.size() == 1);
  CHECK(fake.mounts[0].mount_point == std::filesystem::canonical(request().folder).string());
}

TEST_CASE_FIXTURE(Fixture, "what was never promised here, or is lost with its host, is not made") {
  std::filesystem::remove_all(fake.folder + "/records");
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().code() == ErrorCode::kNotFound);
  CHECK(fake.volumes.empty());
  CHECK(fake.mounts.empty());
  CHECK_FALSE(RecordStore(fake.folder + "/records").load(spec.name)->has_value());
}

TEST_CASE_FIXTURE(Fixture,
                  "a volume that was removed does not come back by its old PersistentVolume") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  REQUIRE(engine.remove(spec)->done);
  CHECK(mount().error().code() == ErrorCode::kNotFound);
  CHECK(fake.volumes.empty());
}

TEST_CASE_FIXTURE(Fixture, "a promise is kept through failures, may be repeated and withdrawn") {
  fake.failing = "lvcreate";
  CHECK_FALSE(mount().ok());
  CHECK(recorded() == RecordState::kPromised);
  fake.failing.clear();
  REQUIRE(engine.copies().promise(order_of(spec)).ok());
  VolumeSpec other = spec;
  other.claim_namespace = "elsewhere";
  CHECK(engine.copies().promise(order_of(other)).error().code() == ErrorCode::kConflict);
  REQUIRE(engine.copies().withdraw(spec).ok());
  CHECK(mount().error().code() == ErrorCode::kNotFound);
  REQUIRE(engine.copies().promise(order_of(spec)).ok());
  REQUIRE(mount().ok());
  CHECK(engine.copies().promise(order_of(spec)).error().code() == ErrorCode::kConflict);
  CHECK(engine.copies().withdraw(spec).error().code() == ErrorCode::kConflict);
  CHECK(recorded() == RecordState::kReady);
  fake.mounts.clear();
  CHECK(mount().ok());
}

TEST_CASE_FIXTURE(Fixture, "mounting again starts no program at all") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  fake.started.clear();
  REQUIRE(mount().ok());
  CHECK(fake.started.empty());
  REQUIRE(mount().ok());  // mounted there already
  CHECK(fake.mounts.size() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "an inactive volume, as after a reboot, is activated and never formatted") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  fake.volumes[key].active = false;
  REQUIRE(mount().ok());
  CHECK(formats() == 1);
}

// Invariant 2: every step can be killed at any instant and repeated.
TEST_CASE("killed before or after any program, the next mount makes the one right volume") {
  for (const bool after : {false, true}) {
    for (int n = 1; n <= 3; ++n) {
      Fixture f;
      (after ? f.fake.kill_after : f.fake.kill_before) = n;
      bool killed = false;
      try {
        const bool mounted = f.mount().ok();
        CHECK(mounted);
      } catch (const Killed&) {
        killed = true;
      }
      CHECK(killed == (n <= 2));
      f.fake.kill_before = f.fake.kill_after = 0;
      REQUIRE_MESSAGE(f.mount().ok(), n, after);
      CHECK(f.fake.volumes.size() == 1);
      CHECK(f.recorded() == RecordState::kReady);
      CHECK(f.formats() <= 2);
      CHECK(f.fake.volumes.at(f.key).start == xfs_start(f.spec.name.claim_uid(), false));
    }
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a killed lvcreate that wiped nothing is removed and made anew, another tenant's "
                  "data never adopted") {
  fake.unwiped_start = xfs_start("99999999-9999-4999-8999-999999999999", false);
  fake.kill_after = 1;
  CHECK_THROWS_AS((void)mount(), Killed);
  fake.kill_after = 0;
  fake.unwiped_start.clear();
  REQUIRE(mount().ok());
  CHECK(fake.volumes.at(key).start == xfs_start(spec.name.claim_uid(), false));
}

// Invariant 1: mkfs only on what is ours, not ready, and carries no complete file system.
TEST_CASE_FIXTURE(Fixture,
                  "a ready volume whose file system cannot be read is refused, not formatted") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  fake.failing = "mount";
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().code() == ErrorCode::kCorrupt);
  CHECK(formats() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a node without LVM has an inventory, as long as it never had volumes of LVM's") {
  NodeConfig quota_only;
  quota_only.pools["default"].quota_path = "/srv/none";
  Host host = fake.host();
  host.tool_root = fake.folder + "/no-tools";
  Engine folders(host, quota_only);
  CHECK(folders.inventory().ok());
  CHECK(fake.started.empty());
  REQUIRE(mount().ok());
  CHECK_FALSE(folders.inventory().ok());
}

TEST_CASE_FIXTURE(Fixture, "a node without a program that makes such a volume says so, and which") {
  CHECK(engine.check_tools(spec));
  Host host = fake.host();
  host.tool_root = fake.folder + "/no-tools";
  NodeConfig named = config;
  named.tools.clear();
  for (const std::string_view tool : {"lvcreate", "lvchange", "blkid", "mkfs.xfs"})
    named.tools[std::string(tool)] = concat("/opt/", tool);
  const Engine poor(host, named);
  CHECK(poor.check_tools(spec));
  VolumeSpec other = spec;
  other.fs_type = FsType::kExt4;
  CHECK(poor.check_tools(other).error().code() == ErrorCode::kNotFound);
  CHECK(poor.check_tools(other).error().message().starts_with("mkfs.ext4 is not on this node"));
  other = spec;
  other.backend = Backend::kThin;
  CHECK(poor.check_tools(other).error().message().starts_with("dmsetup is not on this node"));
  other.backend = Backend::kQuota;
  CHECK(poor.check_tools(other).error().message().starts_with("xfs_quota is not on this node"));
}

TEST_CASE_FIXTURE(Fixture, "a mount that fails for want of something else is not called damage") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  for (const int number : {ENODEV, ENOMEM, EPERM, EBUSY}) {
    fake.mount_error = number;
    const auto mounted = mount();
    REQUIRE_FALSE(mounted.ok());
    CHECK(mounted.error().code() != ErrorCode::kCorrupt);
    CHECK(mounted.error().message().find("xfs_repair") == std::string::npos);
  }
  for (const int number : {EINVAL, EUCLEAN, EBADMSG, EIO}) {
    fake.mount_error = number;
    CHECK(mount().error().code() == ErrorCode::kCorrupt);
  }
}

TEST_CASE_FIXTURE(Fixture, "without records, tags that say ready forbid to format a blank device") {
  REQUIRE(mount().ok());
  REQUIRE(engine.settle(*engine.inventory()).ok());
  std::filesystem::remove_all(fake.folder + "/records");
  fake.volumes[key].start = std::string(kSuperblockBytes, '\0');
  REQUIRE(settle_and_follow().ok());
  CHECK(mount().error().code() == ErrorCode::kNotFound);
  // As of a root disk that was restored from a backup.
  REQUIRE(engine.copies().promise(order_of(spec)).ok());
  REQUIRE(settle_and_follow().ok());
  CHECK(mount().error().code() == ErrorCode::kCorrupt);
  CHECK(formats() == 1);
  CHECK(fake.volumes[key].start == std::string(kSuperblockBytes, '\0'));
}

// A root disk that was restored from a backup has records of before.
TEST_CASE_FIXTURE(Fixture, "tags that say ready forbid to format, however old the record is") {
  REQUIRE(mount().ok());
  REQUIRE(engine.settle(*engine.inventory()).ok());
  const RecordStore records(fake.folder + "/records");
  auto record = *records.load(spec.name);
  record->state = RecordState::kNew;
  REQUIRE(records.save(*record).ok());
  fake.volumes[key].start = std::string(kSuperblockBytes, '\0');
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().code() == ErrorCode::kCorrupt);
  CHECK(formats() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a foreign file system on a volume of ours without a record is left alone") {
  REQUIRE(mount().ok());
  std::filesystem::remove_all(fake.folder + "/records");
  fake.volumes[key].start = xfs_start("99999999-9999-4999-8999-999999999999", false);
  const std::string before = fake.volumes[key].start;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(settle_and_follow().ok());
    CHECK(mount().error().code() == ErrorCode::kNotFound);
  }
  CHECK(fake.volumes.at(key).start == before);
}

TEST_CASE_FIXTURE(Fixture, "a mkfs that was cut short is run again") {
  fake.kill_before = 2;
  CHECK_THROWS_AS((void)mount(), Killed);
  fake.kill_before = 0;
  fake.volumes[key].start = xfs_start(spec.name.claim_uid(), true);
  REQUIRE(mount().ok());
  CHECK(fake.volumes[key].start == xfs_start(spec.name.claim_uid(), false));
}

TEST_CASE_FIXTURE(Fixture, "a stranger's volume of our name is refused and stays") {
  fake.volumes[key] =
      FakeVolume{{"somebody=else"}, "theirs", 1, xfs_start(spec.name.claim_uid(), false)};
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().code() == ErrorCode::kDenied);
  CHECK(fake.volumes.size() == 1);
  CHECK(engine.remove(spec).error().code() == ErrorCode::kDenied);
  CHECK(fake.volumes.at(key).uuid == "theirs");
  CHECK_FALSE(has_record());
}

TEST_CASE_FIXTURE(
    Fixture, "a ready volume whose LV is gone is an error for a person, not a new empty volume") {
  REQUIRE(mount().ok());
  fake.volumes.clear();
  CHECK(mount().error().code() == ErrorCode::kCorrupt);
  CHECK(fake.volumes.empty());
}

TEST_CASE_FIXTURE(Fixture, "an LV that took the name of a ready volume is not mounted") {
  REQUIRE(mount().ok());
  fake.volumes[key].uuid = "other";
  CHECK_FALSE(mount().ok());
  CHECK(formats() == 1);
}

TEST_CASE_FIXTURE(Fixture, "when mkfs fails the new volume and its record are removed again") {
  fake.failing = "mkfs.xfs";
  CHECK_FALSE(mount().ok());
  CHECK(fake.volumes.empty());
  CHECK_FALSE(has_record());
  CHECK(fake.mounts.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "when mkfs fails on a volume that an earlier call made, the volume stays") {
  fake.kill_before = 2;
  CHECK_THROWS_AS((void)mount(), Killed);
  fake.kill_before = 0;
  fake.failing = "mkfs.xfs";
  CHECK_FALSE(mount().ok());
  CHECK(fake.volumes.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a full pool is refused with figures and leaves nothing behind") {
  fake.group_free = 120 * kMiB.count();
  const auto mounted = mount();
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().code() == ErrorCode::kNoSpace);
  CHECK(mounted.error().message() ==
        concat("cannot create volume ", spec.name.text(),
               ": pool \"default\" (volume group \"data\") has 120 MiB free, 512 MiB asked"));
  CHECK_FALSE(has_record());
}

TEST_CASE_FIXTURE(Fixture,
                  "a folder outside kubelet's, or a link, is refused before anything is made") {
  auto wrong = request();
  const std::string good = wrong.folder;
  std::filesystem::create_directories(fake.folder + "/elsewhere");
  const std::string link =
      concat(fake.folder, "/kubelet/pods/4f0e/volumes/", kDriverFolder, "/link");
  std::filesystem::create_directory_symlink(fake.folder + "/elsewhere", link);
  for (const std::string& folder :
       {fake.folder + "/elsewhere", link, good + "/..", good + "/", std::string("/"), std::string(),
        concat(fake.folder, "/kubelet/pods/../../elsewhere")}) {
    wrong.folder = folder;
    CHECK_MESSAGE(engine.mount(wrong).error().code() == ErrorCode::kInvalid, folder);
  }
  CHECK(fake.started.empty());
  CHECK(fake.mounts.empty());
}

TEST_CASE_FIXTURE(Fixture, "something else mounted on the folder is refused") {
  const std::string folder = std::filesystem::canonical(request().folder).string();
  fake.mounts.push_back({"8:1", "/", folder, "ext4", "/dev/sda1", "rw"});
  CHECK(mount().error().code() == ErrorCode::kBusy);
}

TEST_CASE_FIXTURE(Fixture, "unmount takes every layer off and is content with none") {
  REQUIRE(mount().ok());
  fake.mounts.push_back(fake.mounts[0]);
  const std::string folder = request().folder;
  CHECK(engine.unmount(folder).ok());
  CHECK(fake.mounts.empty());
  CHECK(engine.unmount(folder).ok());
  std::filesystem::remove_all(fake.folder + "/kubelet/pods/4f0e");
  CHECK(engine.unmount(folder).ok());
  CHECK_FALSE(engine.unmount("/etc").ok());
}

TEST_CASE_FIXTURE(Fixture, "an unmount that the kernel refuses is reported") {
  REQUIRE(mount().ok());
  fake.failing = "umount";
  CHECK(engine.unmount(request().folder).error().code() == ErrorCode::kBusy);
}

TEST_CASE_FIXTURE(Fixture,
                  "settling copies ready into the tags once, and gives lost records back") {
  REQUIRE(mount().ok());
  fake.started.clear();
  REQUIRE(engine.settle(*engine.inventory()).ok());
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(std::count(fake.started.begin(), fake.started.end(), "lvchange") == 1);
  std::filesystem::remove_all(fake.folder + "/records");
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(recorded() == RecordState::kReady);
  fake.mounts.clear();
  REQUIRE(settle_and_follow().ok());
  fake.started.clear();
  REQUIRE(mount().ok());
  // Whether it had grown meanwhile nobody knows: once its file system is made to.
  CHECK(std::count(fake.started.begin(), fake.started.end(), "xfs_growfs") == 1);
  fake.mounts.clear();
  fake.started.clear();
  REQUIRE(mount().ok());
  CHECK(fake.started.empty());
}

TEST_CASE_FIXTURE(Fixture, "a damaged record stops the mount instead of being guessed at") {
  REQUIRE(mount().ok());
  std::ofstream(concat(fake.folder, "/records/", spec.name.text())) << "{\"version\":1";
  CHECK(mount().error().code() == ErrorCode::kCorrupt);
  CHECK(formats() == 1);
}

}  // namespace
}  // namespace flexlocal::engine
