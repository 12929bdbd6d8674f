// What the record on the host decides: who may mount, what is made, and what becomes of it when it
// is lost.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "test/unit/engine/engine_fixture.h"

namespace flexlocal::engine {
namespace {

using Fixture = EngineFixture;

TEST_CASE_FIXTURE(Fixture, "calls that the record does not allow are counted, and no others") {
  const DurableCounter refused(fake.folder + "/counters", fake.folder + "/locks", kMountsRefused);
  REQUIRE(mount().ok());
  fake.group_free = 0;
  CHECK(engine.grow({call_for(spec), spec.size + kGiB}).error().code() == ErrorCode::kNoSpace);
  CHECK(*refused.value() == 0);
  auto other = request();
  other.volume.copy = "0000000000000000";
  CHECK(engine.mount(other).error().code() == ErrorCode::kDenied);
  CHECK(engine.grow({other.volume, spec.size + kGiB}).error().code() == ErrorCode::kDenied);
  other = request();
  other.pod_namespace = "thief";
  CHECK(engine.mount(other).error().code() == ErrorCode::kDenied);
  CHECK(*refused.value() == 3);
}

TEST_CASE_FIXTURE(Fixture,
                  "a pod of another namespace may not mount, and nothing is made or revealed") {
  auto other = request();
  other.pod_namespace = "thief";
  other.volume.copy = "0000000000000000";
  const auto refused = engine.mount(other);
  CHECK(refused.error().code() == ErrorCode::kDenied);
  CHECK(refused.error().message().find(spec.copy) == std::string::npos);
  CHECK(fake.started.empty());
  REQUIRE(mount().ok());
  CHECK(engine.mount(other).error().code() == ErrorCode::kDenied);
}

// A stranger may name as many volumes as they like.
TEST_CASE_FIXTURE(Fixture, "a call for a volume without a record leaves nothing, no lock either") {
  std::filesystem::remove_all(fake.folder + "/records");
  std::filesystem::remove_all(fake.folder + "/locks");
  CHECK(mount().error().code() == ErrorCode::kNotFound);
  CHECK(engine.grow({call_for(spec), spec.size + kGiB}).error().code() == ErrorCode::kNotFound);
  CHECK_FALSE(std::filesystem::exists(fake.folder + "/locks"));
  CHECK_FALSE(std::filesystem::exists(fake.folder + "/records"));
}

TEST_CASE_FIXTURE(Fixture, "the record alone says what is mounted and how") {
  VolumeSpec ext4 = spec;
  ext4.name = *VolumeName::of_claim("0b1c2d3e-0000-4000-8000-00000000000b");
  ext4.fs_type = FsType::kExt4;
  ext4.mount_options = {"noatime"};
  REQUIRE(engine.copies().promise(order_of(ext4)).ok());
  REQUIRE(engine.mount({call_for(ext4), fake.volume_folder(ext4.name), "shop", "4f0e"}).ok());
  CHECK(fake.started == Programs{"lvcreate", "mkfs.ext4"});
  CHECK(fake.mount_flags.back().options == ext4.mount_options);
}

TEST_CASE_FIXTURE(Fixture, "a record that was lost is made anew, and mounts wait for its claim") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  SUBCASE("whose tags say that it is ready") {
    REQUIRE(engine.settle(*engine.inventory()).ok());
    REQUIRE(fake.volumes[key].tags.back() == kReadyTag);
  }
  SUBCASE("whose tags do not say so yet") {}
  std::filesystem::remove_all(fake.folder + "/records");
  CHECK(mount().error().code() == ErrorCode::kNotFound);
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(recorded() == RecordState::kReady);
  CHECK(mount().error().code() == ErrorCode::kUnavailable);
  CHECK(fake.mounts.empty());
  CHECK(engine.inventory()->records.at(spec.name.text()).claim_uid.empty());
  spec.mount_options = {"noatime"};
  REQUIRE(engine.copies().follow(order_of(spec)).ok());
  REQUIRE(mount().ok());
  CHECK(fake.mount_flags.back().options == spec.mount_options);
  CHECK(formats() == 1);
}

TEST_CASE_FIXTURE(Fixture, "without a record what is not a complete file system stays without") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  std::filesystem::remove_all(fake.folder + "/records");
  fake.volumes[key].start.assign(kSuperblockBytes, '\0');
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK_FALSE(RecordStore(fake.folder + "/records").load(spec.name)->has_value());
  CHECK(fake.logged("a volume without its record cannot be mounted"));
  CHECK(formats() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a volume is wiped as its tags say, whatever the order says now") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  VolumeSpec careless = spec;
  careless.on_delete = OnDelete::kNone;
  REQUIRE(engine.remove(careless)->done);
  CHECK(std::count(fake.started.begin(), fake.started.end(), "blkdiscard") > 0);
}

TEST_CASE_FIXTURE(Fixture, "volumes of a cluster that the host was in before are not mounted") {
  const DurableCounter refused(fake.folder + "/counters", fake.folder + "/locks", kMountsRefused);
  CHECK(engine.join_cluster("none").error().code() == ErrorCode::kInvalid);
  REQUIRE(engine.join_cluster(spec.cluster_id).ok());
  REQUIRE(mount().ok());
  REQUIRE(engine.join_cluster("99999999-9999-4999-8999-999999999999").ok());
  CHECK(mount().error().code() == ErrorCode::kDenied);
  CHECK(engine.grow({call_for(spec), spec.size + kGiB}).error().code() == ErrorCode::kDenied);
  CHECK(*refused.value() == 2);
  REQUIRE(engine.join_cluster(spec.cluster_id).ok());
  CHECK(mount().ok());
}

TEST_CASE_FIXTURE(Fixture, "what is retained, or whose claim is gone, is mounted for nobody") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  SUBCASE("retained") {
    REQUIRE(engine.set_retained(spec, Retained::kYes).ok());
    CHECK(mount().error().code() == ErrorCode::kUnavailable);
    REQUIRE(engine.set_retained(spec, Retained::kNo).ok());
  }
  SUBCASE("released") {
    OrderedCopy closed = order_of(spec);
    closed.claim_uid.clear();
    REQUIRE(engine.copies().follow(closed).ok());
    CHECK(mount().error().code() == ErrorCode::kUnavailable);
    REQUIRE(engine.copies().follow(order_of(spec)).ok());
  }
  SUBCASE("to be removed, and in use") {
    fake.volumes[key].open = true;
    CHECK(engine.remove(spec).error().code() == ErrorCode::kBusy);
    CHECK(mount().error().code() == ErrorCode::kUnavailable);
    REQUIRE(engine.copies().follow(order_of(spec)).ok());
  }
  CHECK(mount().ok());
}

// The root disk was put back, and node.conf and the group's metadata with it.
TEST_CASE_FIXTURE(Fixture, "settling makes nothing by a promise, and leaves it what it is") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  REQUIRE(engine.settle(*engine.inventory()).ok());
  const auto seen = *engine.inventory();
  const RecordStore records(fake.folder + "/records");
  REQUIRE(records.save(promised_record(spec, spec.name.claim_uid())).ok());
  SUBCASE("where the volume went meanwhile") { fake.volumes.clear(); }
  SUBCASE("where its group is another one") { config.pools["default"].volume_group = "other"; }
  SUBCASE("where the promise is of another pool") {
    config.pools["fast"].volume_group = kFakeGroup;
    VolumeSpec other = spec;
    other.pool = "fast";
    REQUIRE(records.save(promised_record(other, spec.name.claim_uid())).ok());
  }
  const auto before = fake.volumes.size();
  REQUIRE(engine.settle(seen).ok());
  CHECK(recorded() == RecordState::kPromised);
  CHECK(fake.volumes.size() == before);
  CHECK(formats() == 1);
  CHECK(fake.logged("a volume without its record cannot be mounted"));
}

TEST_CASE_FIXTURE(Fixture, "no record is written that could not be read again") {
  VolumeSpec strange = spec;
  strange.backend = Backend::kQuota;
  CHECK(engine.copies().follow(order_of(strange)).error().code() == ErrorCode::kDenied);
  strange = spec;
  strange.mount_options = {"suid"};
  CHECK(engine.copies().follow(order_of(strange)).error().code() == ErrorCode::kInvalid);
  strange.copy = "x";
  CHECK(RecordStore(fake.folder + "/records").save(promised_record(strange, "")).error().code() ==
        ErrorCode::kInvalid);
  CHECK(mount().ok());
}

TEST_CASE_FIXTURE(Fixture, "a removal by an order of another backend is refused") {
  REQUIRE(mount().ok());
  fake.mounts.clear();
  VolumeSpec quota = spec;
  quota.backend = Backend::kQuota;
  CHECK(engine.remove(quota).error().code() == ErrorCode::kDenied);
  CHECK(has_record());
  CHECK(mount().ok());
}

}  // namespace
}  // namespace flexlocal::engine
