#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/engine.h"
#include "flexvolume/engine/lvm/lv_remover.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

struct Fixture {
  FakeHost fake;
  NodeConfig config = fake.config();
  Engine engine{fake.host(), config};
  VolumeSpec spec = example_spec();
  std::string key = "data/" + spec.name.text();

  void make(OnDelete on_delete) {
    spec.on_delete = on_delete;
    REQUIRE(engine.copies().promise(order_of(spec)).ok());
    REQUIRE(mount().ok());
    fake.mounts.clear();
    fake.started.clear();
  }
  Status mount() {
    return engine.mount({call_for(spec), fake.volume_folder(spec.name), "shop", "4f0e", false});
  }
  bool is_gone() {
    return fake.volumes.empty() &&
           !RecordStore(fake.folder + "/records").load(spec.name)->has_value();
  }
  long count(const char* program) const {
    return std::count(fake.started.begin(), fake.started.end(), program);
  }
  // Calls until it is done, as the daemon does.
  Status remove() {
    for (;;) {
      const auto removal = engine.remove(spec);
      if (!removal) return removal.error();
      if (removal->done) return {};
    }
  }
};

TEST_CASE_FIXTURE(Fixture, "a volume that is gone, or was never to be, leaves no lock") {
  const std::string lock = concat(fake.folder, "/locks/volume-", spec.name.text());
  REQUIRE(engine.copies().promise(order_of(spec)).ok());
  VolumeSpec other = spec;
  other.cluster_id = "11111111-2222-4333-8444-666666666666";
  CHECK(engine.copies().withdraw(other).error().code() == ErrorCode::kDenied);
  CHECK(std::filesystem::exists(lock));
  REQUIRE(engine.copies().withdraw(spec).ok());
  CHECK_FALSE(std::filesystem::exists(lock));
  make(OnDelete::kNone);
  fake.volumes[key].open = true;
  CHECK_FALSE(engine.remove(spec).ok());
  CHECK(std::filesystem::exists(lock));
  fake.volumes[key].open = false;
  REQUIRE(engine.remove(spec)->done);
  CHECK_FALSE(std::filesystem::exists(lock));
}

TEST_CASE_FIXTURE(Fixture, "a discard that clears the device is all that happens to it") {
  make(OnDelete::kDiscard);
  REQUIRE(remove().ok());
  CHECK(fake.started == std::vector<std::string>{"lvs", "lvchange", "blkdiscard", "lvremove"});
  CHECK(is_gone());
  // A MiB at both ends, and 4 KiB at each of 255 places between them.
  CHECK(std::any_of(fake.log_lines.begin(), fake.log_lines.end(), [](const std::string& line) {
    return line.find("discarded; what was read back is zero") != std::string::npos &&
           line.find("2.99 MiB") != std::string::npos && line.find("512 MiB") != std::string::npos;
  }));
}

TEST_CASE(
    "what is read back after a discard has both ends, is within the device and grows with it") {
  const auto read = [](Bytes size) {
    Bytes sum;
    for (const Spot& spot : spots_to_read(size)) {
      CHECK(spot.offset + spot.length <= size);
      sum += spot.length;
    }
    return sum;
  };
  CHECK(read(Bytes(kMiB.count() / 2)) >= Bytes(kMiB.count() / 2));
  CHECK(read(kGiB) >= Bytes(2 * kMiB.count()));
  const Bytes tebibyte(1024 * kGiB.count());
  CHECK(read(tebibyte) >= Bytes(16 * kMiB.count()));
  CHECK(spots_to_read(tebibyte)[1].offset == tebibyte - kMiB);
  CHECK(spots_to_read(Bytes(64 * tebibyte.count())).size() < 4200);
}

TEST_CASE_FIXTURE(Fixture, "where a discard fails or leaves content, the device is zeroed") {
  make(OnDelete::kDiscard);
  fake.discards_clear = false;
  REQUIRE(remove().ok());
  CHECK(count("blkdiscard") == 2);
  CHECK(is_gone());
}

TEST_CASE_FIXTURE(Fixture, "zeroing never trusts a discard") {
  make(OnDelete::kZero);
  fake.discards_clear = false;
  REQUIRE(remove().ok());
  CHECK(is_gone());
}

TEST_CASE_FIXTURE(Fixture, "none wipes nothing") {
  make(OnDelete::kNone);
  REQUIRE(remove().ok());
  CHECK(count("blkdiscard") == 0);
  CHECK(is_gone());
}

TEST_CASE_FIXTURE(Fixture, "a volume whose wipe fails keeps its space, and is not mounted again") {
  make(OnDelete::kZero);
  fake.failing = "blkdiscard";
  const auto removal = engine.remove(spec);
  REQUIRE_FALSE(removal.ok());
  CHECK(removal.error().message().find("zeroing the volume") != std::string::npos);
  CHECK(fake.volumes.size() == 1);
  CHECK(mount().error().code() == ErrorCode::kDenied);
  std::filesystem::remove_all(fake.folder + "/records");
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(mount().error().code() == ErrorCode::kNotFound);
  // As of a root disk that was restored from a backup: the tags say it.
  REQUIRE(engine.copies().promise(order_of(spec)).ok());
  CHECK(mount().error().code() == ErrorCode::kDenied);
  fake.failing.clear();
  REQUIRE(remove().ok());
  CHECK(is_gone());
}

TEST_CASE_FIXTURE(Fixture, "settling does not bring a volume back whose removal has begun") {
  make(OnDelete::kZero);
  fake.failing = "blkdiscard";
  CHECK_FALSE(engine.remove(spec).ok());
  std::filesystem::remove_all(fake.folder + "/records");
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(mount().error().code() == ErrorCode::kNotFound);
  CHECK_FALSE(RecordStore(fake.folder + "/records").load(spec.name)->has_value());
}

// Data comes first.
TEST_CASE_FIXTURE(Fixture, "nothing is wiped when the device's path leads to another device") {
  for (const OnDelete on_delete : {OnDelete::kZero, OnDelete::kDiscard}) {
    make(on_delete);
    fake.other_device = "LVM-vgstranger";
    CHECK(engine.remove(spec).error().code() == ErrorCode::kCorrupt);
    CHECK(count("blkdiscard") == 0);
    CHECK(count("lvremove") == 0);
    fake.other_device.clear();
    REQUIRE(remove().ok());
  }
}

TEST_CASE_FIXTURE(Fixture, "nothing is wiped while the volume is open") {
  make(OnDelete::kZero);
  fake.volumes[key].open = true;
  CHECK(engine.remove(spec).error().code() == ErrorCode::kBusy);
  CHECK(count("blkdiscard") == 0);
  CHECK(count("lvchange") == 0);
}

TEST_CASE_FIXTURE(Fixture, "an inactive volume is activated, wiped and removed") {
  make(OnDelete::kZero);
  fake.volumes[key].active = false;
  REQUIRE(remove().ok());
  CHECK(is_gone());
}

TEST_CASE_FIXTURE(Fixture, "a retained volume says so by its tags, and is removed as ever") {
  make(OnDelete::kDiscard);
  // By tags and record both: LVM's metadata may be put back.
  const auto retained = [&] {
    const bool recorded = engine.inventory()->records.at(spec.name.text()).retained;
    CHECK(engine.inventory()->volumes.at(0).ownership->retained == recorded);
    return recorded;
  };
  CHECK_FALSE(retained());
  for (const Retained wanted : {Retained::kYes, Retained::kYes, Retained::kNo, Retained::kYes}) {
    REQUIRE(engine.set_retained(spec, wanted).ok());
    CHECK(retained() == (wanted == Retained::kYes));
  }
  CHECK(mount().error().code() == ErrorCode::kUnavailable);
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(retained());
  REQUIRE(remove().ok());
  CHECK(is_gone());
}

TEST_CASE_FIXTURE(Fixture,
                  "nothing is retained that is not there, or not the claim's, or not to be seen") {
  REQUIRE(engine.copies().promise(order_of(spec)).ok());
  CHECK(engine.set_retained(spec, Retained::kYes).ok());
  CHECK_FALSE(engine.inventory()->records.at(spec.name.text()).retained);
  make(OnDelete::kDiscard);
  VolumeSpec other = spec;
  other.claim_namespace = "bank";
  const auto denied = engine.set_retained(other, Retained::kYes);
  CHECK(denied.error().code() == ErrorCode::kDenied);
  fake.failing = "lvs";
  CHECK_FALSE(engine.set_retained(spec, Retained::kYes).ok());
  fake.failing = "lvchange";
  CHECK_FALSE(engine.set_retained(spec, Retained::kYes).ok());
}

TEST_CASE("killed before or after any program of the marking, the next call marks it") {
  for (const bool after : {false, true})
    for (int n = 1; n <= 2; ++n) {
      Fixture f;
      f.make(OnDelete::kDiscard);
      (after ? f.fake.kill_after : f.fake.kill_before) = n;
      CHECK_THROWS_AS(static_cast<void>(f.engine.set_retained(f.spec, Retained::kYes)), Killed);
      f.fake.kill_before = f.fake.kill_after = 0;
      REQUIRE(f.engine.set_retained(f.spec, Retained::kYes).ok());
      CHECK(f.engine.inventory()->records.at(f.spec.name.text()).retained);
      CHECK(f.engine.inventory()->volumes.at(0).ownership->retained);
      REQUIRE(f.engine.set_retained(f.spec, Retained::kNo).ok());
      CHECK(f.mount().ok());
    }
}

// Invariant 2.
TEST_CASE("killed before or after any program of a removal, the next call ends it") {
  for (const OnDelete on_delete : {OnDelete::kDiscard, OnDelete::kZero, OnDelete::kNone}) {
    for (const bool after : {false, true}) {
      for (int n = 1; n <= 4; ++n) {
        Fixture f;
        f.make(on_delete);
        (after ? f.fake.kill_after : f.fake.kill_before) = n;
        try {
          const bool removed = f.remove().ok();
          CHECK(removed);
        } catch (const Killed&) {
        }
        f.fake.kill_before = f.fake.kill_after = 0;
        REQUIRE_MESSAGE(f.remove().ok(), n, after);
        CHECK(f.is_gone());
        CHECK(f.fake.group_free == 10 * kGiB.count());
      }
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "remove takes volume and record, and is content when they are gone") {
  make(OnDelete::kDiscard);
  CHECK(remove().ok());
  CHECK(is_gone());
  CHECK(fake.group_free == 10 * kGiB.count());
  CHECK(remove().ok());
}

// Invariant 4: nothing is removed by name alone.
TEST_CASE_FIXTURE(Fixture,
                  "an open volume, and one of another cluster or namespace, is not removed") {
  make(OnDelete::kDiscard);
  fake.volumes[key].open = true;
  CHECK(engine.remove(spec).error().code() == ErrorCode::kBusy);
  fake.volumes[key].open = false;
  VolumeSpec other = spec;
  other.cluster_id = "11111111-2222-4333-8444-666666666666";
  CHECK(engine.remove(other).error().code() == ErrorCode::kDenied);
  other = spec;
  other.claim_namespace = "thief";
  CHECK(engine.remove(other).error().code() == ErrorCode::kDenied);
  CHECK(fake.volumes.size() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a volume group that is not to be seen is no proof that a volume is gone") {
  make(OnDelete::kDiscard);
  std::filesystem::remove_all(fake.folder + "/records");
  config.pools["default"].volume_group = "missing";
  fake.volumes.clear();
  CHECK(engine.remove(spec).error().code() == ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace flexlocal::engine
