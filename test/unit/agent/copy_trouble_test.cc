// What the agent's worker says of data that is not there, and of orders that are not to be trusted.
#include "flexvolume/base/text.h"
#include "test/unit/agent/copy_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : CopyLab {
  CopyOrder second = sample_order(sample_spec(kOtherUid, Bytes(512 * kMiB.count())));

  void say(CopyState state) {
    server.order(order);
    server.set_status(name, {.state = state, .promised = true, .host = {}});
    watch(name);
  }
  // By the record alone, after a look that saw it.
  void promise_and_look() {
    storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
    give();
    (void)failed_pass();
    storage.make_status = Status();
    REQUIRE(wait_for(ledger().refresh(true)));
    REQUIRE(ledger().is_of_one_look());
    journal.clear();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "what was promised and is not here is lost, and never made anew") {
  say(CopyState::kPromised);
  finish();
  CHECK(done() == "PATCH Lost");
  CHECK(status().promised);
  CHECK(condition()->reason == "DataGone");
  manual.advance(std::chrono::minutes(1));
  finish();
  CHECK(journal.empty());
  CHECK(storage.present.records.empty());
}

TEST_CASE_FIXTURE(Fixture, "what is lost is said by one look at records and disks alone") {
  storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
  give(second);
  REQUIRE_FALSE(passes_of(copy_name(second)));
  REQUIRE(wait_for(ledger().refresh(true)));
  second.desired = DesiredState::kRetained;
  give(second);
  REQUIRE(pass_of(copy_name(second)));
  REQUIRE_FALSE(ledger().is_of_one_look());  // the record was written since
  say(CopyState::kPromised);
  const int looks = storage.looks;
  finish();
  CHECK(storage.looks == looks + 1);
  CHECK(status().state == CopyState::kLost);
}

// The record is read anew with the mount's word in it, and the disks as they were before the mount.
TEST_CASE_FIXTURE(Fixture,
                  "a volume that a mount has made since the last look is not called lost") {
  promise_and_look();
  order.volume.access_mode = engine::AccessMode::kReadWriteOncePod;
  storage.make_by_record(volume);
  give();
  finish();
  CHECK_FALSE(did("PATCH Lost"));
  CHECK(status().state == CopyState::kReady);
}

TEST_CASE_FIXTURE(Fixture, "a disk that went away is lost, and found again when it comes back") {
  make_ready();
  const auto volumes = std::exchange(storage.present.volumes, {});
  ledger().forget();
  finish();
  CHECK(status().state == CopyState::kLost);
  CHECK(status().size == Bytes());
  storage.present.volumes = volumes;
  ledger().forget();
  finish();
  CHECK(status().state == CopyState::kReady);
  CHECK(condition()->holds);
}

TEST_CASE_FIXTURE(Fixture, "disks that cannot be looked at are an error, and nothing is said") {
  make_ready();
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs failed");
  ledger().forget();
  CHECK(failed_pass().message() == "looking at this node's disks: vgs failed");
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "of a group that is away nothing is said but that it is not seen") {
  make_ready();
  const auto seen = storage.present;
  storage.present.volumes.clear();
  storage.present.spaces.clear();
  ledger().forget();
  finish();
  CHECK(done() == "PATCH Ready");
  CHECK(status().size == kGiB);
  CHECK(condition()->reason == "DisksUnseen");
  storage.present = seen;
  ledger().forget();
  finish();
  CHECK(condition()->holds);
}

TEST_CASE_FIXTURE(Fixture, "of a group that could not be looked at it is told why") {
  make_ready();
  storage.present.outdated.emplace("vg", "vgs failed: disk on fire");
  ledger().forget();
  finish();
  CHECK(condition()->reason == "DisksUnseen");
  CHECK(condition()->message ==
        "the pool's disks cannot be looked at now: vgs failed: disk on fire");
}

TEST_CASE_FIXTURE(Fixture, "an order of an earlier leader's term promises nothing here") {
  second.term = 9;
  give(second);
  REQUIRE(pass_of(copy_name(second)));
  order.term = 8;
  give();
  journal.clear();
  finish();
  CHECK(done() == "PATCH ");
  CHECK(condition()->reason == "InDoubt");
  CHECK(record() == nullptr);
  order.term = 9;
  give();
  finish();
  CHECK(status().state == CopyState::kReady);
}

TEST_CASE_FIXTURE(Fixture, "an order of an earlier leader's term removes nothing here") {
  order.term = 9;
  make_ready();
  order.term = 8;
  order.desired = DesiredState::kRemoved;
  server.make_anew(order);
  watch(name);
  finish();
  CHECK(condition()->reason == "InDoubt");
  CHECK_FALSE(did("remove " + volume));
  CHECK(storage.present.volumes.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "an order that went back to an earlier generation is not followed") {
  order.volume.size = kTwoGiB;
  server.order(order);
  order.volume.size = kGiB;
  make_ready();  // by generation 2
  record()->order.generation = 3;
  ledger().forget();
  finish();
  CHECK(condition()->reason == "RolledBack");
  CHECK(record()->order.generation == 3);
}

TEST_CASE_FIXTURE(Fixture, "a whole volume without its record is taken up, for the order's claim") {
  make_ready();
  storage.present.records.clear();
  restart();
  watch(name);
  SUBCASE("where the engine finds its data") {
    engine::Record found = engine::promised_record(order.volume, "");
    found.state = engine::RecordState::kReady;
    storage.found = found;
    finish();
    CHECK(done() == concat("GET, settle, GET, PATCH Ready, follow order 1 for ", kUid));
    CHECK(record()->claim_uid == kUid);
    CHECK(status().state == CopyState::kReady);
  }
  SUBCASE("where it does not") {
    CHECK(failed_pass().code() == ErrorCode::kCorrupt);
    CHECK(status().state == CopyState::kReady);
    CHECK(condition()->reason == "NotTakenUp");
    CHECK_FALSE(did("make " + volume));
    journal.clear();
    (void)failed_pass();
    CHECK(done() == "GET, settle");
  }
}

}  // namespace flexlocal::provisioner::test
