// A copy that was ordered, from its promise to its removal: what the engine makes of its record.
#include <doctest/doctest.h>

#include <optional>

#include "flexvolume/base/text.h"
#include "test/unit/engine/engine_fixture.h"

namespace flexlocal::engine {
namespace {

const FollowedOrder kOrder = order_of(example_spec()).order;

struct Fixture : EngineFixture {
  const RecordStore records{fake.folder + "/records"};

  Status make() { return engine.make(call_for(spec)); }
  std::optional<Record> record() const {
    const auto loaded = records.load(spec.name);
    REQUIRE(loaded);
    return *loaded;
  }
  void keep(RecordState state) {
    Record changed = *record();
    changed.state = state;
    changed.attempt = "ab";
    changed.device_uuid = state == RecordState::kIntent ? "" : "LVM-x";
    changed.volume_group = kFakeGroup;
    REQUIRE(records.save(changed));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a copy is made ahead of its pod, whose mount then starts no program") {
  REQUIRE(make());
  CHECK(fake.started == Programs{"lvcreate", "mkfs.xfs"});
  CHECK(fake.mounts.empty());
  CHECK(recorded() == RecordState::kReady);
  fake.started.clear();
  REQUIRE(make());
  CHECK(fake.started.empty());
  REQUIRE(mount());
  CHECK(fake.started.empty());
  CHECK(fake.mounts.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a copy that a mount has made is found ready") {
  REQUIRE(mount());
  fake.started.clear();
  REQUIRE(make());
  CHECK(fake.started.empty());
  CHECK(fake.mounts.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "nothing is made for another copy, nor of another cluster") {
  SUBCASE("copy") {
    CHECK(engine.make({spec.name, "ffffffffffffffff"}).error().code() == ErrorCode::kDenied);
  }
  SUBCASE("cluster") {
    REQUIRE(engine.join_cluster("99999999-2222-4333-8444-555555555555"));
    CHECK(make().error().code() == ErrorCode::kDenied);
  }
  SUBCASE("no record") {
    REQUIRE(engine.copies().withdraw(spec));
    CHECK(make().error().code() == ErrorCode::kNotFound);
  }
  CHECK(fake.started.empty());
  CHECK(fake.volumes.empty());
}

TEST_CASE_FIXTURE(Fixture, "what was refused is neither made nor mounted") {
  REQUIRE(engine.copies().refuse(spec));
  const auto mounted = mount();
  REQUIRE_FALSE(mounted);
  CHECK(mounted.error().code() == ErrorCode::kUnavailable);
  CHECK(mounted.error().message().find("could not be made on this node, which gave it up") !=
        std::string::npos);
  CHECK(make().error().code() == ErrorCode::kUnavailable);
  CHECK(fake.started.empty());
  CHECK(fake.volumes.empty());
  CHECK(fake.mounts.empty());
  CHECK(record()->state == RecordState::kRefused);
}

TEST_CASE_FIXTURE(Fixture, "what is being removed is not made again") {
  REQUIRE(make());
  fake.failing = "lvremove";
  CHECK_FALSE(engine.remove(spec));
  fake.started.clear();
  CHECK(make().error().code() == ErrorCode::kDenied);
  CHECK(std::count(fake.started.begin(), fake.started.end(), "lvcreate") == 0);
}

TEST_CASE_FIXTURE(Fixture, "a made volume's record keeps its order and its claim") {
  REQUIRE(make());
  CHECK(record()->order == kOrder);
  CHECK(record()->claim_uid == spec.name.claim_uid());
}

TEST_CASE_FIXTURE(Fixture, "an lvcreate that fails puts the promise back, with its order") {
  fake.failing = "lvcreate";
  CHECK_FALSE(make());
  CHECK(record()->state == RecordState::kPromised);
  CHECK(record()->order == kOrder);
  CHECK(record()->claim_uid == spec.name.claim_uid());
  CHECK(record()->spec == spec);
  CHECK(fake.volumes.empty());
}

TEST_CASE_FIXTURE(Fixture, "a making that is killed anywhere keeps the order") {
  for (int at = 1; at <= 2; ++at) {
    Fixture killed;
    killed.fake.kill_after = at;
    CHECK_THROWS_AS((void)killed.make(), Killed);
    CHECK(killed.record()->order == kOrder);
    killed.fake.kill_after = 0;
    REQUIRE(killed.make());
    CHECK(killed.record()->order == kOrder);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a removal that has begun keeps the order, and closes the volume first") {
  REQUIRE(make());
  SUBCASE("in use") {
    fake.volumes[key].open = true;
    CHECK(engine.remove(spec).error().code() == ErrorCode::kBusy);
    CHECK(record()->state == RecordState::kReady);
  }
  SUBCASE("wiped") {
    fake.failing = "lvremove";
    CHECK_FALSE(engine.remove(spec));
    CHECK(record()->state == RecordState::kWiping);
  }
  CHECK(record()->order == kOrder);
  CHECK(record()->claim_uid.empty());
  CHECK(mount().error().code() != ErrorCode::kNotFound);
  CHECK(fake.mounts.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a growth keeps the order, and goes by the size that the volume was made with") {
  REQUIRE(make());
  VolumeSpec grown = spec;
  grown.size = kGiB;
  CHECK(engine.grow(grown, kGiB).error().code() == ErrorCode::kDenied);
  REQUIRE(engine.grow(spec, kGiB));
  CHECK(record()->order == kOrder);
  CHECK(record()->spec.size == spec.size);
  CHECK(fake.volumes[key].size == kGiB.count());
}

TEST_CASE_FIXTURE(Fixture, "a look at the disks has the whole record") {
  REQUIRE(make());
  const auto seen = engine.inventory();
  REQUIRE(seen);
  REQUIRE(seen->records.contains(spec.name.text()));
  CHECK(to_json(seen->records.at(spec.name.text())) == to_json(*record()));
  REQUIRE(write_file_atomically(concat(fake.folder, "/records/", spec.name.text()), "cut", 0600));
  const auto damaged = engine.inventory();
  REQUIRE(damaged);
  CHECK(damaged->records.empty());
  CHECK(damaged->damaged.contains(spec.name.text()));
}

TEST_CASE_FIXTURE(Fixture, "what was begun and has no logical volume yet is kept by its record") {
  for (const RecordState state : {RecordState::kIntent, RecordState::kNew}) {
    keep(state);
    REQUIRE(engine.set_retained(spec, Retained::kYes));
    CHECK(record()->retained);
    REQUIRE(engine.set_retained(spec, Retained::kNo));
    CHECK_FALSE(record()->retained);
    CHECK(record()->state == state);
    CHECK(record()->order == kOrder);
  }
}

TEST_CASE_FIXTURE(
    Fixture, "a kept copy is not mounted, and what was begun of it is made once it is released") {
  keep(RecordState::kIntent);
  REQUIRE(engine.set_retained(spec, Retained::kYes));
  CHECK(mount().error().code() == ErrorCode::kUnavailable);
  REQUIRE(engine.set_retained(spec, Retained::kNo));
  REQUIRE(mount());
  CHECK_FALSE(record()->retained);
}

}  // namespace flexlocal::engine
