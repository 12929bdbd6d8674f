// What the agent's worker does about orders to keep a copy, and to remove it.
#include "flexvolume/base/text.h"
#include "test/unit/agent/copy_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : CopyLab {
  // A promise of which nothing is made.
  void promise_only() {
    storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
    give();
    (void)failed_pass();
    storage.make_status = Status();
    REQUIRE(record()->state == engine::RecordState::kPromised);
    journal.clear();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a copy that is kept can be mounted by nobody, and later again") {
  make_ready();
  give(DesiredState::kRetained);
  finish();
  CHECK(record()->retained);
  CHECK(status().state == CopyState::kRetained);
  CHECK(status().size == kGiB);
  CHECK(did("retain " + volume));
  journal.clear();
  give(DesiredState::kServing);
  finish();
  CHECK_FALSE(record()->retained);
  CHECK(status().state == CopyState::kReady);
  CHECK(record()->order.generation == 3);
  // Who lifts it has read the order from the API server itself.
  const auto get = std::find(journal.begin(), journal.end(), "GET");
  CHECK(std::find(get, journal.end(), "take up " + volume) != journal.end());
}

TEST_CASE_FIXTURE(Fixture,
                  "of a promise that is kept the record alone says so, and it is not made") {
  promise_only();
  give(DesiredState::kRetained);
  finish();
  CHECK(record()->retained);
  CHECK(record()->state == engine::RecordState::kPromised);
  CHECK(status().state == CopyState::kRetained);
  CHECK_FALSE(did("retain " + volume));
  CHECK_FALSE(did("make " + volume));
  give(DesiredState::kServing);
  finish();
  CHECK_FALSE(record()->retained);
  CHECK(status().state == CopyState::kReady);
  CHECK_FALSE(did("take up " + volume));
}

// The root disk was put back to the time of the promise.
TEST_CASE_FIXTURE(Fixture, "a kept copy whose record is earlier than itself is served again") {
  make_ready();
  give(DesiredState::kRetained);
  finish();
  record()->state = engine::RecordState::kPromised;
  record()->retained = false;
  ledger().forget();
  give(DesiredState::kServing);
  finish();
  CHECK(did("take up " + volume));
  CHECK(status().state == CopyState::kReady);
  CHECK(storage.present.volumes.size() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a copy is removed by an order that is read anew, and said before it is") {
  make_ready();
  give(DesiredState::kRemoved);
  finish();
  CHECK(done() == "GET, PATCH Removing, remove, GET, PATCH Removed");
  CHECK(status().size == Bytes());
  CHECK(status().wiped == Bytes());
  CHECK(status().promised);
  CHECK(status().made);
  CHECK(record() == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "that nothing is left is said by a look of the same pass alone") {
  make_ready();
  const engine::Inventory there = storage.present;
  storage.present.volumes.clear();
  storage.present.holdings.clear();
  storage.present.records.clear();
  REQUIRE(wait_for(ledger().refresh(true)).ok());
  storage.present = there;
  give(DesiredState::kRemoved);
  finish();
  CHECK(did("remove " + volume));
  CHECK(storage.present.volumes.empty());
  CHECK(status().state == CopyState::kRemoved);
}

TEST_CASE_FIXTURE(Fixture,
                  "before each slice of a wipe the order is read anew, and progress is told") {
  make_ready();
  storage.slices = {{.done = false, .wiped = kMiB, .size = kGiB},
                    {.done = false, .wiped = Bytes(512 * kMiB.count()), .size = kGiB}};
  give(DesiredState::kRemoved);
  REQUIRE(*pass() == Pass::kRequeue);
  CHECK(done() == "GET, PATCH Removing, remove, PATCH Removing");
  CHECK(status().wiped == kMiB);
  manual.advance(std::chrono::minutes(2));
  REQUIRE(*pass() == Pass::kRequeue);
  CHECK(done() == "GET, remove, PATCH Removing");
  CHECK(status().wiped == Bytes(512 * kMiB.count()));
  finish();
  CHECK(done() == "GET, remove, GET, PATCH Removed");
  CHECK(status().wiped == Bytes());
}

TEST_CASE_FIXTURE(Fixture, "a wipe that moves on by little is not told each time") {
  make_ready();
  for (const std::uint64_t wiped : {1, 2, 3})
    storage.slices.push_back({.done = false, .wiped = Bytes(wiped), .size = kGiB});
  give(DesiredState::kRemoved);
  for (int i = 0; i < 3; ++i) REQUIRE(*pass() == Pass::kRequeue);
  CHECK(std::count(journal.begin(), journal.end(), "PATCH Removing") == 2);
}

TEST_CASE_FIXTURE(Fixture, "a wipe ends between two slices where the order was changed") {
  make_ready();
  storage.slices = {{.done = false, .wiped = kMiB, .size = kGiB}};
  give(DesiredState::kRemoved);
  REQUIRE(*pass() == Pass::kRequeue);
  record()->state = engine::RecordState::kWiping;
  lv().ownership->wiping = true;
  ledger().forget();
  order.desired = DesiredState::kServing;
  server.order(order);  // which the watch has not brought yet
  journal.clear();
  finish();
  CHECK_FALSE(did("remove " + volume));
  CHECK(status().state == CopyState::kLost);
  CHECK(condition()->reason == "WipeBegun");
}

TEST_CASE_FIXTURE(Fixture,
                  "what a pod has open is closed to further ones, and removed once it ends") {
  make_ready();
  lv().open = true;
  ledger().forget();
  give(DesiredState::kRemoved);
  CHECK(failed_pass().code() == ErrorCode::kBusy);
  CHECK(record()->claim_uid.empty());
  CHECK(record()->order.generation == 2);
  CHECK_FALSE(did("remove " + volume));
  CHECK(status().state == CopyState::kReady);
  CHECK(status().mounted);
  CHECK(condition()->reason == "InUse");
  journal.clear();
  for (const auto pause : {std::chrono::seconds(0), std::chrono::seconds(20)}) {
    manual.advance(pause);
    const int looks = storage.looks;
    CHECK(failed_pass().code() == ErrorCode::kBusy);
    CHECK(journal.empty());
    CHECK(storage.looks == looks + 1);
  }
  // Seen at once, though the disks were looked at just now.
  lv().open = false;
  finish();
  CHECK(did("remove " + volume));
  CHECK(status().state == CopyState::kRemoved);
  CHECK(condition()->holds);
}

TEST_CASE_FIXTURE(Fixture, "a removal that the disks refuse is said once, and tried again") {
  make_ready();
  storage.remove_status = Error(ErrorCode::kBusy, "it has a snapshot");
  give(DesiredState::kRemoved);
  CHECK(failed_pass().code() == ErrorCode::kBusy);
  CHECK(status().state == CopyState::kRemoving);
  CHECK(condition()->reason == "InUse");
  CHECK(condition()->message == "it has a snapshot");
  journal.clear();
  (void)failed_pass();
  CHECK(done() == "GET, remove");
  storage.remove_status = Status();
  storage.slices = {{.done = false, .wiped = kMiB, .size = kGiB}};
  REQUIRE(*pass() == Pass::kRequeue);
  CHECK(status().state == CopyState::kRemoving);
  CHECK(condition()->holds);
  finish();
  CHECK(status().state == CopyState::kRemoved);
  CHECK(condition()->holds);
}

TEST_CASE_FIXTURE(Fixture, "of a promise the record alone is taken away") {
  promise_only();
  give(DesiredState::kRemoved);
  finish();
  CHECK(done() == "GET, PATCH Removing, withdraw, GET, PATCH Removed");
  CHECK(record() == nullptr);
  CHECK(storage.present.volumes.empty());
}

// Whoever replaces the copy has to know that its pod may have written to it.
TEST_CASE_FIXTURE(Fixture,
                  "of a copy that a mount may have made since it is said that it was made") {
  promise_only();
  CHECK_FALSE(status().made);
  SUBCASE("it has") { storage.make_by_record(volume); }
  SUBCASE("the last look met it on its way") {
    record()->state = engine::RecordState::kIntent;
    REQUIRE(wait_for(ledger().refresh(true)).ok());
    storage.make_by_record(volume);
  }
  SUBCASE("its record is lost since") {
    storage.make_by_record(volume);
    storage.present.records.clear();
    ledger().forget();
  }
  SUBCASE("all that the host knew of it is lost") {
    storage.present.records.clear();
    ledger().forget();
    finish();
    REQUIRE(status().state == CopyState::kLost);
  }
  give(DesiredState::kRemoved);
  finish();
  CHECK(status().state == CopyState::kRemoved);
  CHECK(status().made);
}

TEST_CASE_FIXTURE(Fixture, "a copy that was never here is removed without a write to the disks") {
  order.desired = DesiredState::kRemoved;
  give();
  finish();
  CHECK(done() == "GET, PATCH Removed");
  CHECK_FALSE(status().promised);
}

TEST_CASE_FIXTURE(Fixture, "another copy's order waits for the place, and gets it") {
  make_ready();
  CopyOrder next = order;
  next.volume.copy = "fedcba9876543210";
  give(next);
  const auto waits = pass_of(copy_name(next));
  REQUIRE_FALSE(waits);
  CHECK(waits.error().code() == ErrorCode::kBusy);
  CHECK(server.copy(copy_name(next)).status.state == CopyState::kUnsaid);
  give(DesiredState::kRemoved);
  finish();
  const auto passed = passes_of(copy_name(next));
  REQUIRE(passed);
  CHECK(server.copy(copy_name(next)).status.state == CopyState::kReady);
  CHECK(record()->spec.copy == next.volume.copy);
}

TEST_CASE_FIXTURE(Fixture, "the removal of another copy leaves the one that is here alone") {
  make_ready();
  CopyOrder earlier = order;
  earlier.volume.copy = "fedcba9876543210";
  earlier.desired = DesiredState::kRemoved;
  give(earlier);
  REQUIRE(pass_of(copy_name(earlier)));
  CHECK(server.copy(copy_name(earlier)).status.state == CopyState::kRemoved);
  CHECK(record() != nullptr);
  CHECK(storage.present.volumes.size() == 1);
}

}  // namespace flexlocal::provisioner::test
