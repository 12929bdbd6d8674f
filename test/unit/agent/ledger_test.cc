#include "provisioner/agent/ledger.h"

#include "provisioner/objects/copy_roll.h"
#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : NodeLab {
  void refresh(bool anew) { REQUIRE(wait_for(ledger.refresh(anew)).ok()); }
  void refresh_for_new() { REQUIRE(wait_for(ledger.refresh_for_new()).ok()); }
  // A look that has seen the disks as they are now, and has not said so yet.
  void hold_look() {
    storage.hold_look = true;
    tasks.spawn(kube::test::store(ledger.refresh(true), held_));
    REQUIRE(run_until([&] { return storage.looks > 0; }));
  }
  void end_look() {
    storage.go.notify_all();
    REQUIRE(run_until([&] { return held_.has_value(); }));
    CHECK(held_->ok());
  }
  static Promise wanted(const std::string& pool) {
    return {"pvc-asking", engine::Backend::kLvm, pool, kGiB};
  }
  Bytes free_in(const std::string& pool, const std::string& claim = "shop/asking") {
    const auto room = ledger.room(wanted(pool), claim);
    REQUIRE(room.ok());
    return room->free;
  }
  ErrorCode code_of(const std::string& pool) {
    const auto room = ledger.room(wanted(pool), "shop/asking");
    REQUIRE_FALSE(room.ok());
    return room.error().code();
  }

 private:
  std::optional<Status> held_;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the disks are asked once in ten seconds, or anew when told to") {
  refresh(false);
  refresh(false);
  CHECK(storage.looks == 1);
  manual.advance(std::chrono::seconds(10) - std::chrono::nanoseconds(1));
  refresh(false);
  CHECK(storage.looks == 1);
  manual.advance(std::chrono::nanoseconds(1));
  refresh(false);
  CHECK(storage.looks == 2);
  refresh(true);
  CHECK(storage.looks == 3);
  ledger.forget();
  refresh(false);
  CHECK(storage.looks == 4);
}

TEST_CASE_FIXTURE(Fixture, "for what is new the disks are not asked while no metadata change") {
  storage.present.heads = {{"vg", {"vg", "uuid", 7, 1}}};
  refresh(false);
  for (int comparisons = 1; comparisons < 30; ++comparisons) {
    manual.advance(std::chrono::seconds(12));
    refresh_for_new();
    refresh_for_new();
    CHECK(storage.looks == 1);
    CHECK(storage.comparisons == comparisons);
  }
  // What is open may have changed since, which is not in them.
  refresh(false);
  CHECK(storage.looks == 2);
  manual.advance(std::chrono::minutes(6));
  refresh_for_new();
  CHECK(storage.looks == 3);
}

TEST_CASE_FIXTURE(Fixture,
                  "metadata that have changed are a reason to look, for what is new as well") {
  storage.present.heads = {{"vg", {"vg", "uuid", 7, 1}}};
  refresh(false);
  manual.advance(std::chrono::seconds(10));
  SUBCASE("by a change") { storage.present.heads["vg"].seqno = 8; }
  SUBCASE("of the same number") { storage.present.heads["vg"].checksum = 2; }
  SUBCASE("that nobody can read") { storage.present.heads.clear(); }
  SUBCASE("but what we removed is one without that") { ledger.forget(); }
  refresh_for_new();
  CHECK(storage.looks == 2);
}

TEST_CASE_FIXTURE(Fixture, "after a look that failed nothing new is promised without one") {
  storage.present.heads = {{"vg", {"vg", "uuid", 7, 1}}};
  refresh(false);
  storage.inventory_status = Error(ErrorCode::kDeadline, "vgs did not end");
  CHECK_FALSE(wait_for(ledger.refresh(true)).ok());
  manual.advance(std::chrono::seconds(10));
  CHECK_FALSE(wait_for(ledger.refresh_for_new()).ok());
  storage.inventory_status = Status();
  refresh_for_new();
  CHECK(storage.looks == 4);
}

TEST_CASE_FIXTURE(Fixture, "promises are new for a minute, and the latest of them are told") {
  engine::Record record = engine::promised_record(sample_spec(), kUid);
  ledger.see_record(record);
  CHECK(ledger.new_promises() == std::vector<std::string>{kCopy});
  manual.advance(std::chrono::minutes(1));
  record.spec.copy = "fedcba9876543210";
  record.state = engine::RecordState::kReady;
  ledger.see_record(record);
  CHECK(ledger.new_promises() == std::vector<std::string>{kCopy});
  record.state = engine::RecordState::kPromised;
  manual.advance(std::chrono::nanoseconds(1));
  for (int i = 0; i < 2; ++i) ledger.see_record(record);
  CHECK(ledger.new_promises() == std::vector<std::string>{record.spec.copy});
  // One that is written again is not new again.
  manual.advance(std::chrono::minutes(1));
  ledger.see_record(record);
  manual.advance(std::chrono::nanoseconds(1));
  CHECK(ledger.new_promises().empty());
  for (std::size_t i = 0; i <= kMostCounted; ++i) {
    record.spec.copy = concat(i);
    ledger.see_record(record);
  }
  CHECK(ledger.new_promises().size() == kMostCounted);
  CHECK(ledger.new_promises().front() == "1");
  ledger.forget_record(record.spec.name.text());
  CHECK(ledger.new_promises().empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "what was promised before the daemon was started is new at its first look") {
  Ledger started(storage, config, manual);
  // By name the one that is made comes last.
  const auto add = [&](const std::string& uid, const std::string& copy, engine::RecordState state) {
    engine::VolumeSpec spec = sample_spec(uid);
    spec.copy = copy;
    engine::Record record = engine::promised_record(spec, uid);
    record.state = state;
    storage.present.records.insert_or_assign(spec.name.text(), record);
  };
  add("00000000-0000-4000-8000-000000000001", "0000000000000001", engine::RecordState::kPromised);
  add("00000000-0000-4000-8000-000000000002", "0000000000000002", engine::RecordState::kReady);
  REQUIRE(wait_for(started.refresh(true)));
  CHECK(started.new_promises() == std::vector<std::string>{"0000000000000002", "0000000000000001"});
  manual.advance(std::chrono::minutes(2));
  REQUIRE(wait_for(started.refresh(true)));
  CHECK(started.new_promises().empty());
}

TEST_CASE_FIXTURE(Fixture, "a look that a removal came into is not the last one") {
  storage.free() = kGiB;
  hold_look();
  storage.free() = kGiB + kGiB;
  ledger.forget();
  end_look();
  CHECK(free_in("default") == kGiB);  // which is known, and outdated
  CHECK_FALSE(ledger.is_current());
  refresh(false);
  CHECK(free_in("default") == kGiB + kGiB);
  CHECK(ledger.is_current());
  refresh(false);
  CHECK(storage.looks == 2);
}

TEST_CASE_FIXTURE(Fixture, "of two looks at once the one that was begun last counts") {
  hold_look();
  storage.free() = kGiB;
  ledger.forget();
  refresh(true);
  end_look();
  CHECK(free_in("default") == kGiB);
  CHECK(ledger.is_current());
}

TEST_CASE_FIXTURE(Fixture, "before the first look nothing is known, and that is said") {
  CHECK(code_of("default") == ErrorCode::kUnavailable);
  refresh(false);
  CHECK(free_in("default") == kGiB + kGiB);
  ledger.forget();
  CHECK(code_of("default") == ErrorCode::kUnavailable);
}

TEST_CASE_FIXTURE(Fixture, "disks that cannot be looked at are an error, and the old look stays") {
  refresh(true);
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs failed");
  const Status looked = wait_for(ledger.refresh(true));
  REQUIRE_FALSE(looked.ok());
  CHECK(looked.error().message() == "vgs failed");
  CHECK(free_in("default") == kGiB + kGiB);
}

TEST_CASE_FIXTURE(Fixture, "a pool that is not configured, or whose group is gone, is not found") {
  config.pools["lost"].volume_group = "no-such-vg";
  refresh(true);
  CHECK(code_of("fast") == ErrorCode::kNotFound);
  CHECK(code_of("lost") == ErrorCode::kNotFound);
}

TEST_CASE_FIXTURE(Fixture, "records and reservations are promises, each volume counted once") {
  refresh(true);
  const std::string name = "pvc-" + kUid;
  ledger.reserve(name, sample_spec());
  CHECK(free_in("default") == kGiB);
  ledger.see_record(engine::promised_record(sample_spec(), kUid));
  CHECK(free_in("default") == kGiB);
  ledger.release(name);
  CHECK(free_in("default") == kGiB);
  const engine::VolumeSpec other = sample_spec(kOtherUid);
  ledger.reserve(other.name.text(), other);
  CHECK(free_in("default") == Bytes(0));
  // A volume that is judged again is not in its own way.
  CHECK(free_in("default", other.name.text()) == kGiB);
  for (int i = 0; i < 2; ++i) ledger.release(other.name.text());
  CHECK(free_in("default") == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "a volume whose space is not taken back yet keeps its room") {
  const std::string name = "pvc-" + kUid;
  storage.present.records.emplace(name, engine::promised_record(sample_spec(), kUid));
  storage.free() = kGiB;
  storage.present.holdings = {{name, "group:vg", kGiB}};
  refresh(true);
  CHECK(free_in("default") == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "two pools on one group share its room") {
  config.pools["other"].volume_group = "vg";
  refresh(true);
  engine::VolumeSpec spec = sample_spec();
  spec.pool = "other";
  ledger.reserve(spec.name.text(), spec);
  CHECK(free_in("default") == kGiB);
  CHECK(free_in("other") == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "a record that is written or taken away counts at once") {
  refresh(true);
  ledger.see_record(engine::promised_record(sample_spec(), kUid));
  CHECK(free_in("default") == kGiB);
  REQUIRE(ledger.inventory()->records.contains("pvc-" + kUid));
  engine::Record later = engine::promised_record(sample_spec(), kUid);
  later.order.generation = 2;
  ledger.see_record(later);
  CHECK(ledger.inventory()->records.at("pvc-" + kUid).order.generation == 2);
  ledger.forget_record("pvc-" + kUid);
  CHECK(free_in("default") == kGiB + kGiB);
  CHECK(ledger.inventory()->records.empty());
}

TEST_CASE_FIXTURE(Fixture, "what a look finds of records counts") {
  storage.present.records.emplace("pvc-" + kUid, engine::promised_record(sample_spec(), kUid));
  refresh(true);
  CHECK(free_in("default") == kGiB);
  CHECK(ledger.inventory()->records.contains("pvc-" + kUid));
}

TEST_CASE_FIXTURE(Fixture, "a look that was begun before a record was written does not forget it") {
  hold_look();
  ledger.see_record(engine::promised_record(sample_spec(), kUid));
  end_look();
  CHECK(free_in("default") == kGiB);
  CHECK(ledger.inventory()->records.contains("pvc-" + kUid));
  CHECK_FALSE(ledger.is_of_one_look());
  // One that was begun later knows it better.
  refresh(true);
  CHECK(free_in("default") == kGiB + kGiB);
  CHECK(ledger.inventory()->records.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a look that was begun before a record was taken away does not bring it back") {
  storage.present.records.emplace("pvc-" + kUid, engine::promised_record(sample_spec(), kUid));
  hold_look();
  ledger.forget_record("pvc-" + kUid);
  end_look();
  CHECK(free_in("default") == kGiB + kGiB);
  CHECK(ledger.inventory()->records.empty());
}

TEST_CASE_FIXTURE(
    Fixture, "records and disks are of one look until a record is written, or one is asked for") {
  CHECK_FALSE(ledger.is_of_one_look());
  refresh(true);
  CHECK(ledger.is_of_one_look());
  ledger.see_record(engine::promised_record(sample_spec(), kUid));
  CHECK_FALSE(ledger.is_of_one_look());
  refresh(true);
  CHECK(ledger.is_of_one_look());
  CHECK_FALSE(ledger.has_removed("pvc-" + kUid));
  ledger.forget_record("pvc-" + kUid);
  CHECK(ledger.has_removed("pvc-" + kUid));
  CHECK_FALSE(ledger.is_of_one_look());
  refresh(true);
  CHECK_FALSE(ledger.has_removed("pvc-" + kUid));
  ledger.forget();
  CHECK_FALSE(ledger.is_of_one_look());
}

}  // namespace flexlocal::provisioner::test
