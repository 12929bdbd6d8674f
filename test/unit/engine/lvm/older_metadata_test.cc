// LVM's metadata that somebody put back to what they were before.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "flexvolume/base/lock.h"
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
  VolumeSpec other = another_spec();
  std::string key = "data/" + spec.name.text();

  Fixture() {
    REQUIRE(engine.copies().promise(order_of(spec)).ok());
    REQUIRE(engine.copies().promise(order_of(other)).ok());
    REQUIRE(mount(spec).ok());
  }
  static VolumeSpec another_spec() {
    VolumeSpec another = example_spec();
    another.name = *VolumeName::of_claim("99999999-2222-4333-8444-555555555555");
    return another;
  }
  VolumeSpec promise_third() {
    VolumeSpec third = example_spec();
    third.name = *VolumeName::of_claim("77777777-2222-4333-8444-555555555555");
    REQUIRE(engine.copies().promise(order_of(third)).ok());
    return third;
  }
  Status mount(const VolumeSpec& of) {
    return engine.mount({call_for(of), fake.volume_folder(of.name), "shop", "4f0e", false});
  }
  // A growth of the first volume that LVM's metadata do not have any more: their number is what it
  // was before the restore, and not their text.
  void go_back() {
    fake.volumes[key].device_size = kLarger.count();
    ++fake.disk.head.checksum;
  }
  void bring_newer_back() {
    fake.volumes[key].device_size = 0;
    ++fake.disk.head.seqno;
    REQUIRE(engine.inventory()->outdated.empty());
  }
  void forget_group() { std::filesystem::remove(concat(fake.folder, "/groups/data.json")); }
  // What was noted of the group, with these disks.
  void note(const std::string& disks) const {
    std::ofstream(concat(fake.folder, "/groups/data.json"))
        << concat(R"({"group_uuid":"vg","seqno":)", fake.disk.head.seqno, R"(,"checksum":)",
                  fake.disk.head.checksum, R"(,"disks":[)", disks, "]}");
  }
  static bool is_refusal(const Status& status) {
    return !status.ok() && status.error().code() == ErrorCode::kOutdated &&
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
