// What the agent's worker does about a copy that was withdrawn: it goes where no pod has had it.
#include "flexvolume/base/text.h"
#include "test/unit/agent/copy_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : CopyLab {
  // As a mount notes it.
  void use() {
    record()->used = true;
    ledger().forget();
  }
  void withdraw() { give(DesiredState::kWithdrawn); }
  void check_kept() {
    CHECK(status().state == CopyState::kRetained);
    CHECK(status().made);
    CHECK((condition() == nullptr || condition()->holds));
    REQUIRE(record() != nullptr);
    CHECK(record()->retained);
    CHECK(storage.present.volumes.size() == 1);
    CHECK_FALSE(did("remove " + volume));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "what was made ahead of its pod goes, and that is said before it does") {
  make_ready();
  withdraw();
  finish();
  CHECK(done() == "GET, PATCH Removing, if unused:, remove, GET, PATCH Removed");
  CHECK(record() == nullptr);
  CHECK(storage.present.volumes.empty());
}

TEST_CASE_FIXTURE(Fixture, "what a pod has had is kept, and serves again when it is ordered to") {
  make_ready();
  use();
  withdraw();
  finish();
  check_kept();
  give(DesiredState::kServing);
  finish();
  CHECK(status().state == CopyState::kReady);
  CHECK_FALSE(record()->retained);
}

TEST_CASE_FIXTURE(Fixture, "a pod that comes while it is looked at has it kept") {
  make_ready();
  storage.before_removal = [this] { record()->used = true; };
  withdraw();
  CHECK(failed_pass().code() == ErrorCode::kConflict);
  CHECK(status().state == CopyState::kRemoving);
  finish();
  check_kept();
}

TEST_CASE_FIXTURE(Fixture, "of a promise the record alone is taken away") {
  storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
  give();
  (void)failed_pass();
  journal.clear();
  SUBCASE("which was kept") {}
  SUBCASE("which was given up") {
    record()->state = engine::RecordState::kRefused;
    ledger().forget();
  }
  withdraw();
  finish();
  CHECK(status().state == CopyState::kRemoved);
  CHECK(did("withdraw " + volume));
  CHECK(record() == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "what was never here is removed without a write to the disks") {
  order.desired = DesiredState::kWithdrawn;
  give();
  finish();
  CHECK(done() == "GET, PATCH Removed");
}

TEST_CASE_FIXTURE(Fixture, "what the host has forgotten may have been a pod's") {
  make_ready();
  SUBCASE("its record is lost, and made anew from the tags") {
    engine::Record anew = *record();
    anew.used = true;
    anew.claim_uid.clear();
    anew.order = {};
    storage.found = anew;
    storage.present.records.clear();
    ledger().forget();
    withdraw();
    finish();
    check_kept();
  }
  SUBCASE("the record is of the promise, and the volume is there") {
    record()->state = engine::RecordState::kPromised;
    ledger().forget();
    withdraw();
    finish();
    check_kept();
  }
  SUBCASE("all of it is lost") {
    storage.present.records.clear();
    storage.present.volumes.clear();
    ledger().forget();
    withdraw();
    finish();
    CHECK(status().state == CopyState::kLost);
    CHECK(condition()->reason == "DataGone");
  }
  SUBCASE("a pod had it, and its disk is lost") {
    use();
    storage.present.volumes.clear();
    ledger().forget();
    withdraw();
    finish();
    CHECK(status().state == CopyState::kLost);
  }
}

// A person, or its PersistentVolume, took the removal back when part of it was wiped.
TEST_CASE_FIXTURE(Fixture, "what is left of a removal that was taken back stays") {
  make_ready();
  use();
  storage.slices.assign(2, {.done = false, .wiped = {}, .size = {}});
  give(DesiredState::kRemoved);
  (void)pass();
  record()->state = engine::RecordState::kWiping;
  lv().ownership->wiping = true;
  ledger().forget();
  give(DesiredState::kServing);
  finish();
  REQUIRE(status().state == CopyState::kLost);
  journal.clear();
  withdraw();
  finish();
  CHECK(status().state == CopyState::kLost);
  CHECK_FALSE(did("remove " + volume));
}

TEST_CASE_FIXTURE(Fixture, "what a pod had, and a person had removed, was not unused") {
  make_ready();
  use();
  finish();
  REQUIRE(status().used);
  give(DesiredState::kRemoved);
  finish();
  REQUIRE(status().state == CopyState::kRemoved);
  withdraw();
  finish();
  CHECK(status().state == CopyState::kLost);
}

TEST_CASE_FIXTURE(Fixture, "a record that is put back forgets a pod, and what was said does not") {
  make_ready();
  const engine::Record before = *record();
  use();
  finish();
  *record() = before;
  ledger().forget();
  SUBCASE("made") {}
  SUBCASE("on its way") { record()->state = engine::RecordState::kNew; }
  withdraw();
  finish();
  check_kept();
}

TEST_CASE_FIXTURE(Fixture, "a record of the making beside a whole volume is one of before") {
  make_ready();
  record()->state = engine::RecordState::kNew;
  ledger().forget();
  withdraw();
  finish();
  check_kept();
}

TEST_CASE_FIXTURE(Fixture, "what was made, and whose place is empty or another's, is lost") {
  make_ready();
  storage.present.volumes.clear();
  SUBCASE("the record is of the promise") { record()->state = engine::RecordState::kPromised; }
  SUBCASE("the record is another copy's") { record()->spec.copy = "fedcba9876543210"; }
  ledger().forget();
  withdraw();
  for (int passes = 0; passes < 4; ++passes) (void)pass();
  CHECK(status().state == CopyState::kLost);
}

TEST_CASE_FIXTURE(Fixture, "what somebody has open that no pod has had waits, closed to pods") {
  make_ready();
  lv().open = true;
  ledger().forget();
  withdraw();
  CHECK(failed_pass().code() == ErrorCode::kBusy);
  CHECK(record()->claim_uid.empty());
  CHECK(condition()->reason == "InUse");
  lv().open = false;
  finish();
  CHECK(status().state == CopyState::kRemoved);
}

}  // namespace flexlocal::provisioner::test
