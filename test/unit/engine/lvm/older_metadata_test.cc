// LVM's metadata that somebody put back to what they were before: what is not done by them.
#include "test/unit/engine/lvm/older_metadata_fixture.h"

namespace flexlocal::engine {
namespace {

using Fixture = OlderMetadata;

TEST_CASE_FIXTURE(Fixture, "the group of a volume that runs larger than LVM says offers nothing") {
  auto inventory = engine.inventory();
  REQUIRE(inventory.ok());
  CHECK(inventory->outdated.empty());
  go_back();
  inventory = engine.inventory();
  REQUIRE(inventory.ok());
  CHECK(inventory->outdated.contains("data"));
  REQUIRE(inventory->spaces.size() == 1);
  CHECK(inventory->spaces[0].free == Bytes());
  CHECK(inventory->groups[0].free == Bytes());
}

TEST_CASE_FIXTURE(Fixture, "a look waits for nobody who changes the group") {
  go_back();
  const auto lock = FileLock::acquire(fake.folder + "/locks/group-data", std::chrono::seconds(20));
  REQUIRE(lock.ok());
  const auto start = std::chrono::steady_clock::now();
  CHECK(engine.inventory()->outdated.empty());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}

TEST_CASE_FIXTURE(Fixture, "no volume is made in it, whether its volumes run or not") {
  for (const bool active : {true, false}) {
    go_back();
    fake.volumes[key].active = active;
    fake.started.clear();
    CHECK(is_refusal(mount(other)));
    CHECK(count("lvcreate") == 0);
    bring_newer_back();
  }
  CHECK(mount(other).ok());
}

TEST_CASE_FIXTURE(Fixture, "where no memory of the group is left, what runs says it") {
  go_back();
  forget_group();
  CHECK(is_refusal(mount(other)));
  CHECK(count("lvcreate") == 1);
}

TEST_CASE_FIXTURE(Fixture, "what they may have made active is not mounted") {
  fake.mounts.clear();
  ++fake.disk.head.checksum;
  CHECK(is_refusal(mount(spec)));
  CHECK(fake.mounts.empty());
  bring_newer_back();
  CHECK(mount(spec).ok());
}

TEST_CASE_FIXTURE(Fixture, "nor formatted, where a killed call had not come to that") {
  fake.started.clear();
  fake.kill_before = 2;
  CHECK_THROWS_AS((void)mount(other), Killed);
  fake.kill_before = 0;
  ++fake.disk.head.checksum;
  fake.started.clear();
  CHECK(is_refusal(mount(other)));
  CHECK(count("mkfs.xfs") == 0);
  bring_newer_back();
  fake.started.clear();
  CHECK(mount(other).ok());
  // Not before its device is what the newer say.
  const auto made = std::find(fake.started.begin(), fake.started.end(), "mkfs.xfs");
  CHECK(std::find(fake.started.begin(), made, "lvchange") != made);
}

TEST_CASE_FIXTURE(Fixture, "what is mounted gets another mount, whatever they are") {
  ++fake.disk.head.checksum;
  VolumeSpec again = spec;
  CHECK(
      engine.mount({call_for(again), fake.volume_folder(again.name, "4f0f"), "shop", "4f0f", false})
          .ok());
  CHECK(fake.mounts.size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "what somebody has mounted to look at it is not mounted for a pod") {
  for (MountEntry& entry : fake.mounts) entry.mount_point = "/mnt";
  ++fake.disk.head.checksum;
  CHECK(is_refusal(mount(spec)));
}

TEST_CASE_FIXTURE(Fixture, "what is known to be older stays refused where nobody can look closer") {
  fake.mounts.clear();
  ++fake.disk.head.checksum;
  fake.failing = "vgs";
  CHECK(is_refusal(mount(spec)));
  note(R"("/dev/fake-disk","/dev/gone")");
  ++fake.disk.head.checksum;
  CHECK(is_refusal(mount(spec)));
}

TEST_CASE_FIXTURE(Fixture, "where nobody can tell how old they are, data is mounted all the same") {
  fake.mounts.clear();
  forget_group();
  fake.failing = "vgs";
  CHECK(mount(spec).ok());
  CHECK(fake.logged("a volume is mounted without a look at the age of LVM's metadata"));
}

TEST_CASE_FIXTURE(Fixture, "a device that older ones may have made is made what the newer say") {
  fake.mounts.clear();
  ++fake.disk.head.checksum;
  CHECK(is_refusal(mount(spec)));
  bring_newer_back();
  fake.started.clear();
  CHECK(mount(spec).ok());
  CHECK(count("lvchange") == 2);
  fake.mounts.clear();
  fake.started.clear();
  CHECK(mount(spec).ok());
  CHECK(fake.started.empty());
}

TEST_CASE_FIXTURE(Fixture, "it is not used before, whatever keeps LVM from that") {
  fake.mounts.clear();
  ++fake.disk.head.checksum;
  REQUIRE_FALSE(engine.inventory()->outdated.empty());
  bring_newer_back();
  for (const char* program : {"lvchange", "lvs"}) {
    fake.failing = program;
    CHECK(mount(spec).error().message().find("deactivate it with `lvchange -an data/") !=
          std::string::npos);
    CHECK(mount(spec).error().code() == ErrorCode::kOutdated);
  }
  ++fake.disk.head.seqno;
  fake.failing = "vgs";
  CHECK(mount(spec).error().code() == ErrorCode::kOutdated);
  fake.failing = "lvchange";
  const auto removal = engine.remove(spec);
  REQUIRE_FALSE(removal.ok());
  CHECK(removal.error().code() == ErrorCode::kOutdated);
  CHECK(count("blkdiscard") == 0);
  REQUIRE(engine.copies().follow(order_of(spec)).ok());  // it was bound again
  fake.failing.clear();
  fake.volumes[key].open = true;  // somebody looks at it
  CHECK(mount(spec).error().code() == ErrorCode::kOutdated);
  CHECK(engine.grow(spec, kLarger).error().code() == ErrorCode::kOutdated);
  CHECK(count("lvextend") == 0);
  fake.volumes[key].open = false;
  CHECK(fake.mounts.empty());
  CHECK(mount(spec).ok());
}

TEST_CASE_FIXTURE(Fixture, "what was mounted meanwhile is what it was") {
  ++fake.disk.head.checksum;
  REQUIRE_FALSE(engine.inventory()->outdated.empty());
  bring_newer_back();
  fake.mounts.clear();
  fake.started.clear();
  CHECK(mount(spec).ok());
  CHECK(fake.started.empty());
}

}  // namespace
}  // namespace flexlocal::engine
