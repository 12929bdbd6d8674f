// LVM's metadata that somebody put back: by which signs they are known, and what is done then.
#include "test/unit/engine/lvm/older_metadata_fixture.h"

namespace flexlocal::engine {
namespace {

using Fixture = OlderMetadata;

TEST_CASE_FIXTURE(Fixture, "where no disk's can be read, LVM's own number counts") {
  constexpr std::uint32_t kIgnored = 1;
  fake.disk.flags = kIgnored;
  CHECK(mount(other).ok());
  const VolumeSpec third = promise_third();
  fake.disk.head.seqno = 0;
  CHECK(is_refusal(mount(third)));
}

TEST_CASE_FIXTURE(Fixture, "no program looks at metadata that were seen before") {
  fake.started.clear();
  REQUIRE(mount(other).ok());
  CHECK(fake.started == std::vector<std::string>{"lvcreate", "mkfs.xfs"});
  forget_group();
  const VolumeSpec third = promise_third();
  fake.started.clear();
  REQUIRE(mount(third).ok());
  CHECK(fake.started == std::vector<std::string>{"vgs", "lvs", "lvcreate", "mkfs.xfs"});
}

TEST_CASE_FIXTURE(Fixture, "metadata that cannot be noted keep nobody from a volume") {
  forget_group();
  std::filesystem::remove_all(fake.folder + "/groups");
  std::ofstream(fake.folder + "/groups") << "no folder";
  CHECK(mount(other).ok());
  CHECK(fake.logged("what LVM's metadata are now could not be noted"));
}

TEST_CASE_FIXTURE(Fixture,
                  "an administrator's changes are seen once, and a new group of the name") {
  fake.disk.head.seqno += 3;
  fake.disk.head.checksum = 17;
  REQUIRE(engine.inventory().ok());
  fake.started.clear();
  REQUIRE(mount(other).ok());
  CHECK(count("vgs") == 0);
  fake.disk.head = {"data", "another", 1, 99};
  CHECK(engine.inventory()->outdated.empty());
}

TEST_CASE_FIXTURE(Fixture, "no volume is grown or removed in it, seen or not") {
  REQUIRE(mount(other).ok());
  go_back();
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
  go_back();
  (void)engine.settle(*engine.inventory());
  CHECK_FALSE(records.load(other.name)->has_value());
  bring_newer_back();
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(records.load(other.name)->has_value());
}

TEST_CASE_FIXTURE(Fixture, "where nobody can tell how much of a larger device is used, it stays") {
  REQUIRE(engine.settle(*engine.inventory()).ok());
  fake.started.clear();
  fake.volumes[key].device_size = kLarger.count();  // of an administrator's lvreduce, killed
  fake.mounts.clear();
  fake.volumes[key].open = true;
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(count("lvchange") == 0);
  CHECK(fake.logged("what a killed LVM command left is not finished"));
  fake.volumes[key].open = false;
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(fake.volumes[key].device_size == 0);
}

TEST_CASE_FIXTURE(Fixture, "what is suspended meanwhile runs on with the table that it has") {
  go_back();
  fake.volumes[key].suspended = true;
  fake.volumes[key].inactive_size = 512 * kMiB.count();
  CHECK(is_refusal(engine.resume_suspended()));
  CHECK_FALSE(fake.volumes[key].suspended);
  CHECK(fake.volumes[key].inactive_size == 0);
  CHECK(fake.volumes[key].device_size == kLarger.count());
  CHECK(count("lvchange") == 0);
  fake.volumes[key].suspended = true;
  CHECK(engine.unmount(fake.volume_folder(spec.name)).ok());
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

TEST_CASE_FIXTURE(Fixture, "a disk that LVM uses no more does not speak for the others") {
  fake.volumes["data/left"].size = kLarger.count();
  fake.volumes["data/left"].start = fake.disk.bytes();
  fake.volumes["data/left"].active = true;
  note(R"("/dev/fake-disk","/dev/mapper/data-left")");
  ++fake.disk.head.checksum;
  CHECK(is_refusal(mount(other)));
  CHECK(count("lvcreate") == 1);
}

TEST_CASE_FIXTURE(Fixture, "a disk that is gone keeps nobody from asking LVM which there are") {
  note(R"("/dev/fake-disk","/dev/gone")");
  fake.started.clear();
  REQUIRE(mount(other).ok());
  CHECK(count("vgs") == 1);
  const VolumeSpec third = promise_third();
  fake.started.clear();
  REQUIRE(mount(third).ok());
  CHECK(count("vgs") == 0);
}

TEST_CASE_FIXTURE(Fixture, "a note that cannot be is as none") {
  fake.disk.head.seqno = static_cast<std::uint64_t>(-1);
  note(R"("/dev/fake-disk")");
  fake.disk.head.seqno = 7;
  CHECK(mount(other).ok());
}

// It has a size of its own, that of what has changed since, and none of our tags.
TEST_CASE_FIXTURE(Fixture, "an administrator's snapshot with a name like ours shows nothing") {
  FakeVolume snapshot;
  snapshot.uuid = "LVM-vgsnapshot";
  snapshot.size = kMiB.count();
  snapshot.device_size = kLarger.count();
  fake.volumes["data/flexlocal-default-snap"] = snapshot;
  ++fake.disk.head.seqno;
  CHECK(engine.inventory()->outdated.empty());
  CHECK(mount(other).ok());
}

TEST_CASE_FIXTURE(Fixture, "a device is made what the newer say also where none were seen before") {
  REQUIRE(mount(other).ok());
  std::erase_if(fake.mounts, [&](const MountEntry& entry) {
    return entry.mount_point.find(other.name.text()) != std::string::npos;
  });
  go_back();
  forget_group();
  REQUIRE_FALSE(engine.inventory()->outdated.empty());
  bring_newer_back();
  fake.started.clear();
  CHECK(mount(other).ok());
  CHECK(count("lvchange") == 2);
  const std::size_t mounts = fake.mounts.size();
  CHECK(engine.unmount(fake.volume_folder(other.name)).ok());
  fake.started.clear();
  CHECK(mount(other).ok());
  CHECK(fake.mounts.size() == mounts);
  CHECK(fake.started.empty());  // as seen, from then on
}

TEST_CASE_FIXTURE(Fixture, "what is left of another group of that name is none of this one's") {
  fake.volumes[key].unknown = true;
  fake.disk.head = {"data", "another", 1, 99};
  CHECK(engine.inventory()->outdated.empty());
}

TEST_CASE_FIXTURE(Fixture, "a volume that only newer metadata have is not taken for gone") {
  fake.mounts.clear();
  fake.volumes[key].active = false;
  fake.volumes[key].unknown = true;
  ++fake.disk.head.checksum;
  const auto removal = engine.remove(spec);
  REQUIRE_FALSE(removal.ok());
  CHECK(is_refusal(removal.error()));
  CHECK(was_begun(fake, spec));
}

TEST_CASE_FIXTURE(Fixture, "a look that could not tell leaves no record of what is older") {
  REQUIRE(mount(other).ok());
  REQUIRE(engine.settle(*engine.inventory()).ok());
  RecordStore records(fake.folder + "/records");
  REQUIRE(records.remove(other.name).ok());
  go_back();
  std::optional<Inventory> seen;
  {
    const auto lock =
        FileLock::acquire(fake.folder + "/locks/group-data", std::chrono::seconds(20));
    REQUIRE(lock.ok());
    seen = *engine.inventory();
  }
  (void)engine.settle(*seen);
  CHECK_FALSE(records.load(other.name)->has_value());
}

}  // namespace
}  // namespace flexlocal::engine
