// Volumes that no pod has had, which alone a withdrawn order removes.
#include "test/unit/engine/engine_fixture.h"

namespace flexlocal::engine {
namespace {

struct Fixture : EngineFixture {
  RecordStore records{fake.folder + "/records"};

  Record record() { return **records.load(spec.name); }
  void save(const Record& changed) { REQUIRE(records.save(changed).ok()); }
  void make() { REQUIRE(engine.make(call_for(spec)).ok()); }
  bool is_there() const { return fake.volumes.contains(key); }
  // Until it is done.
  Status remove() {
    for (;;) {
      const auto removal = engine.remove_unused(spec);
      if (!removal) return removal.error();
      if (removal->done) return {};
    }
  }
  void check_kept() {
    const Record before = record();
    CHECK(remove().error().code() == ErrorCode::kConflict);
    CHECK(is_there());
    CHECK(to_json(record()) == to_json(before));
  }
};

TEST_CASE_FIXTURE(Fixture, "what was made ahead of its pod is removed") {
  make();
  CHECK_FALSE(record().used);
  make();
  CHECK_FALSE(record().used);
  REQUIRE(remove().ok());
  CHECK_FALSE(is_there());
  CHECK_FALSE(records.load(spec.name)->has_value());
}

TEST_CASE_FIXTURE(Fixture, "what a pod has had stays, and can be mounted as before") {
  SUBCASE("made ahead of it") { make(); }
  SUBCASE("made by its mount") {}
  REQUIRE(mount().ok());
  fake.mounts.clear();
  check_kept();
  REQUIRE(mount().ok());
}

TEST_CASE_FIXTURE(Fixture, "a mount that came to nothing counts as one") {
  make();
  fake.failing = "mount";
  REQUIRE_FALSE(mount().ok());
  check_kept();
}

TEST_CASE_FIXTURE(Fixture, "a mount that was refused before leaves it unused") {
  make();
  MountRequest other = request();
  other.pod_namespace = "bank";
  REQUIRE_FALSE(engine.mount(other).ok());
  CHECK_FALSE(record().used);
}

TEST_CASE_FIXTURE(Fixture, "of what is older, newer or lost than its volume nobody knows") {
  const Record promised = record();
  make();
  SUBCASE("the record is of the promise") {
    save(promised);
    CHECK(remove().error().code() == ErrorCode::kConflict);
    make();
  }
  SUBCASE("the record is of an earlier lvcreate") {
    Record earlier = record();
    earlier.state = RecordState::kIntent;
    earlier.attempt = "00112233445566778899aabbccddeeff";
    earlier.device_uuid.clear();
    save(earlier);
    make();
  }
  SUBCASE("the record was lost") {
    REQUIRE(records.remove(spec.name).ok());
    CHECK(remove().error().code() == ErrorCode::kConflict);
    REQUIRE(settle_and_follow().ok());
  }
  check_kept();
}

// A record of then may have been put back, and tags say later than a record that a volume is whole.
TEST_CASE_FIXTURE(Fixture,
                  "of what a killed lvcreate left, or what stood in its way, nobody knows") {
  SUBCASE("killed") {
    fake.kill_after = 1;
    CHECK_THROWS(engine.make(call_for(spec)));
    fake.kill_after = 0;
    REQUIRE(recorded() == RecordState::kIntent);
    CHECK(record().used);
    make();
  }
  SUBCASE("in its way") {
    const Record promised = record();
    make();
    REQUIRE(settle_and_follow().ok());
    save(promised);
    fake.volumes[key].start.clear();
    CHECK_FALSE(engine.make(call_for(spec)).ok());
    REQUIRE(recorded() == RecordState::kIntent);
  }
  CHECK(record().used);
  check_kept();
}

TEST_CASE_FIXTURE(Fixture, "a removal that has begun is gone on with where no pod had had it") {
  make();
  bool used = false;
  SUBCASE("none had") {}
  SUBCASE("one had: what is left of it stays") { used = true; }
  if (used) REQUIRE(mount().ok());
  fake.mounts.clear();
  fake.failing = "lvremove";
  REQUIRE_FALSE(engine.remove(spec).ok());
  fake.failing.clear();
  REQUIRE(recorded() == RecordState::kWiping);
  CHECK(record().used == used);
  CHECK(remove().ok() == !used);
  CHECK(is_there() == used);
}

// The record may be one of between the making and the first mount, or that of a plugin which does
// not note pods.
TEST_CASE_FIXTURE(Fixture, "what holds a file stays, whatever the record says, and says so then") {
  make();
  fake.volumes[key].files = true;
  CHECK(remove().error().code() == ErrorCode::kConflict);
  CHECK(is_there());
  CHECK(record().used);
  fake.volumes[key].files = false;
  check_kept();
  REQUIRE(mount().ok());
}

TEST_CASE_FIXTURE(Fixture, "what cannot be read is no proof that nothing is in it") {
  make();
  SUBCASE("damaged") { fake.mount_error = EUCLEAN; }
  SUBCASE("another file system") { fake.volumes[key].start = ext4_start("0"); }
  SUBCASE("lost, by its record") { fake.volumes[key].start = std::string(kSuperblockBytes, '\0'); }
  SUBCASE("lost, by its tags") {
    REQUIRE(settle_and_follow().ok());
    Record earlier = record();
    earlier.state = RecordState::kNew;
    save(earlier);
    fake.volumes[key].start = std::string(kSuperblockBytes, '\0');
  }
  CHECK(remove().error().code() == ErrorCode::kConflict);
  CHECK(is_there());
  CHECK(record().used);
}

TEST_CASE_FIXTURE(Fixture, "a look that came to nothing is made again") {
  make();
  SUBCASE("no memory") { fake.mount_error = ENOMEM; }
  SUBCASE("a disk that could not read") { fake.mount_error = EIO; }
  CHECK_FALSE(remove().ok());
  CHECK_FALSE(record().used);
  CHECK(is_there());
  fake.mount_error = 0;
  REQUIRE(remove().ok());
}

TEST_CASE_FIXTURE(Fixture, "what is in use is not looked into") {
  make();
  fake.volumes[key].open = true;
  fake.started.clear();
  CHECK(remove().error().code() == ErrorCode::kBusy);
  CHECK(std::count(fake.started.begin(), fake.started.end(), "look") == 0);
  CHECK_FALSE(record().used);
}

TEST_CASE_FIXTURE(Fixture, "an ext4 that has met errors may show less than it has") {
  spec.fs_type = FsType::kExt4;
  Record promised = record();
  promised.spec = spec;
  save(promised);
  make();
  SUBCASE("it has noted that") { fake.volumes[key].start[kExtAt + 58] = 2; }
  SUBCASE("it has more inodes in use than files are seen") {
    fake.volumes[key].start[kExtAt] = 20;
    fake.volumes[key].start[kExtAt + 84] = 11;
  }
  CHECK(remove().error().code() == ErrorCode::kConflict);
  CHECK(is_there());
}

TEST_CASE_FIXTURE(Fixture, "what a killed mkfs left holds no file") {
  make();
  Record half = record();
  half.state = RecordState::kNew;
  save(half);
  fake.volumes[key].start = xfs_start(spec.name.claim_uid(), true);
  REQUIRE(remove().ok());
  CHECK_FALSE(is_there());
}

TEST_CASE_FIXTURE(Fixture, "a promise is none of its business") {
  CHECK(remove().error().code() == ErrorCode::kConflict);
  CHECK(recorded() == RecordState::kPromised);
}

TEST_CASE("a record says that no pod had it, or says nothing of that") {
  Record record{.spec = example_spec(), .state = RecordState::kPromised};
  CHECK(to_json(record).find("used") == std::string::npos);
  CHECK(parse_record(to_json(record))->used);
  record.used = false;
  CHECK_FALSE(parse_record(to_json(record))->used);
}

}  // namespace
}  // namespace flexlocal::engine
