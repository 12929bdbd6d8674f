#include "provisioner/agent/copy_worker.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "test/unit/agent/copy_lab.h"

namespace flexlocal::provisioner::test {
namespace {

// A copy of another claim's volume.
CopyOrder other_order(Bytes size) { return sample_order(sample_spec(kOtherUid, size)); }

}  // namespace

TEST_CASE_FIXTURE(CopyLab, "a new claim's copy costs one GET and two PATCHes") {
  give();
  finish();
  CHECK(done() == "GET, promise, PATCH Promised, make, PATCH Ready");
  const CopyStatus said = status();
  CHECK(said.promised);
  CHECK(said.made);
  CHECK(said.size == kGiB);
  CHECK(said.host == "host");
  CHECK(said.observed_generation == 1);
  CHECK(said.conditions.empty());
  CHECK_FALSE(ledger().has_reservations());
}

TEST_CASE_FIXTURE(CopyLab,
                  "while no metadata change, no look stands between an order and its promise") {
  storage.present.heads = {{"vg", {"vg", "uuid", 7, 1}}};
  REQUIRE(wait_for(ledger().refresh(true)).ok());
  manual.advance(std::chrono::seconds(12));
  storage.hold_look = true;
  give();
  std::optional<Result<Pass>> passed;
  tasks.spawn(kube::test::store(worker().work(name), passed));
  REQUIRE(run_until([&] { return status().state == CopyState::kPromised; }));
  CHECK_FALSE(passed.has_value());
  CHECK(done() == "GET, promise, PATCH Promised");
  storage.go.notify_all();
  REQUIRE(run_until([&] { return passed.has_value(); }));
  finish();
  CHECK(status().state == CopyState::kReady);
}

TEST_CASE_FIXTURE(CopyLab, "what is as it is ordered costs nothing") {
  make_ready();
  finish();
  restart();
  watch(name);
  finish();
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(CopyLab, "the record keeps which order it follows, and for whom") {
  order.term = 7;
  make_ready();
  REQUIRE(record() != nullptr);
  CHECK(record()->order == engine::FollowedOrder{server.copy(name).uid, 1, 7, "data"});
  CHECK(record()->claim_uid == order.claim_uid);
  CHECK(record()->spec == order.volume);
  CHECK_FALSE(record()->retained);
}

TEST_CASE_FIXTURE(CopyLab,
                  "where there is no room, that is said with figures, and nothing is kept") {
  order.volume.size = Bytes(3 * kGiB.count());
  give();
  finish();
  CHECK(status().state == CopyState::kRefused);
  CHECK_FALSE(status().promised);
  REQUIRE(condition() != nullptr);
  CHECK_FALSE(condition()->holds);
  CHECK(condition()->reason == "NotPossibleHere");
  CHECK(condition()->message == "pool \"default\" has 2 GiB free for backend lvm, 3 GiB asked");
  CHECK(record() == nullptr);
  CHECK_FALSE(did("promise " + volume));
  CHECK_FALSE(ledger().has_reservations());
  CHECK(storage.looks == 2);  // what others freed just now counts
}

TEST_CASE_FIXTURE(CopyLab, "what was refused is not tried again when there is room later") {
  order.volume.size = Bytes(3 * kGiB.count());
  give();
  finish();
  const std::string why = condition()->message;
  storage.free() = Bytes(8 * kGiB.count());
  journal.clear();
  restart();
  watch(name);
  finish();
  CHECK(journal.empty());
  CHECK(status().state == CopyState::kRefused);
  CHECK(condition()->message == why);
}

TEST_CASE_FIXTURE(CopyLab, "a pool that the node does not have, and too small a budget, refuse") {
  SUBCASE("pool") {
    order.volume.pool = "fast";
    give();
    finish();
    CHECK(condition()->message.find("\"fast\"") != std::string::npos);
  }
  SUBCASE("budget") {
    budget.memory = Bytes(16 * kMiB.count());
    give();
    finish();
    CHECK(condition()->message.find("pool ") == 0);
  }
  CHECK(status().state == CopyState::kRefused);
  CHECK(record() == nullptr);
}

TEST_CASE_FIXTURE(CopyLab, "a promise takes its room before it is made") {
  storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
  give();
  (void)failed_pass();
  REQUIRE(record() != nullptr);
  const CopyOrder second = other_order(kTwoGiB);
  give(second);
  const auto passed = pass_of(copy_name(second));
  REQUIRE(passed);
  const CopyStatus said = server.copy(copy_name(second)).status;
  CHECK(said.state == CopyState::kRefused);
  REQUIRE(said.conditions.size() == 1);
  CHECK(said.conditions[0].message.find("has 1 GiB free") != std::string::npos);
}

TEST_CASE_FIXTURE(CopyLab, "a record that cannot be written leaves no reservation and no promise") {
  storage.promise_status = Error(ErrorCode::kFailed, "the root disk is read-only");
  give();
  CHECK(failed_pass().message() == "the root disk is read-only");
  CHECK(status().state == CopyState::kUnsaid);
  CHECK_FALSE(status().promised);
  CHECK(condition()->reason == "NotPossibleHere");
  CHECK_FALSE(ledger().has_reservations());
  storage.promise_status = Status();
  finish();
  CHECK(status().state == CopyState::kReady);
  CHECK(condition()->holds);
}

TEST_CASE_FIXTURE(CopyLab, "a promise that cannot be kept for want of space is given up") {
  storage.make_status = Error(ErrorCode::kNoSpace, "1 GiB asked, 0 B free");
  give();
  finish();
  CHECK(done() == "GET, promise, PATCH Promised, make, PATCH Promised, refuse, PATCH Refused");
  CHECK(status().state == CopyState::kRefused);
  CHECK(status().promised);
  CHECK(record()->state == engine::RecordState::kRefused);
  CHECK(condition()->reason == "NotMade");
  CHECK(condition()->message == "1 GiB asked, 0 B free");
  storage.make_status = Status();
  restart();
  watch(name);
  finish();
  CHECK(journal.empty());
}

// Somebody deleted the object, and with it what was said.
TEST_CASE_FIXTURE(CopyLab, "of a promise that was given up a new object of it is told, too") {
  storage.make_status = Error(ErrorCode::kNoSpace, "1 GiB asked, 0 B free");
  give();
  finish();
  order.origin = Origin::kExisting;
  server.make_anew(order);
  watch(name);
  finish();
  CHECK(status().state == CopyState::kRefused);
  REQUIRE(condition() != nullptr);
  CHECK(condition()->reason == "GivenUp");
}

TEST_CASE_FIXTURE(
    CopyLab,
    "what was begun is not given up, whatever keeps it from its end, but tried after a pause") {
  storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
  give();
  (void)failed_pass();
  storage.make_status = Error(ErrorCode::kInvalid, "the pool is another group now");
  SUBCASE("its record says so") { record()->state = engine::RecordState::kIntent; }
  SUBCASE("its tags say so") {
    storage.add_volume(order.volume);
    lv().ownership->ready = false;
  }
  ledger().forget();
  journal.clear();
  for (int i = 0; i < 2; ++i) CHECK(failed_pass().code() == ErrorCode::kInvalid);
  CHECK(std::count(journal.begin(), journal.end(), "make " + volume) == 2);
  CHECK_FALSE(did("refuse " + volume));
  CHECK(condition()->message == "the pool is another group now");
}

TEST_CASE_FIXTURE(CopyLab, "an action that changes nothing ends in an error, and not in a circle") {
  make_ready();
  storage.retains = false;
  give(DesiredState::kRetained);
  CHECK(failed_pass().code() == ErrorCode::kFailed);
  CHECK(std::count(journal.begin(), journal.end(), "retain " + volume) <= 16);
}

TEST_CASE_FIXTURE(CopyLab, "making that may work later is tried again, and said to work then") {
  storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
  give();
  CHECK(failed_pass().code() == ErrorCode::kDeadline);
  CHECK(status().state == CopyState::kPromised);
  CHECK(record()->state == engine::RecordState::kPromised);
  CHECK_FALSE(condition()->holds);
  CHECK(condition()->reason == "NotMade");
  storage.make_status = Status();
  finish();
  CHECK(status().state == CopyState::kReady);
  CHECK(condition()->holds);
}

// Each write comes back by the watch, which brings the next pass at once.
TEST_CASE_FIXTURE(CopyLab, "what fails again as before is not written again") {
  storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
  give();
  (void)failed_pass();
  journal.clear();
  for (int i = 0; i < 3; ++i) {
    manual.advance(std::chrono::seconds(1));
    (void)failed_pass();
  }
  CHECK(done() == "make, make, make");
}

TEST_CASE_FIXTURE(CopyLab,
                  "a copy that a mount makes before the agent does is ready all the same") {
  storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
  give();
  (void)failed_pass();
  storage.make_by_record(volume);
  finish();
  CHECK(status().state == CopyState::kReady);
}

TEST_CASE_FIXTURE(CopyLab, "after a conflict nothing is made, and the next pass goes on") {
  give();
  server.alive = [this] {
    if (did("promise " + volume) && !did("409")) server.touch(name);
    return true;
  };
  CHECK(failed_pass().code() == ErrorCode::kConflict);
  CHECK(done() == "GET, promise, 409");
  server.alive = [] { return true; };
  watch(name);
  finish();
  CHECK(done() == "PATCH Promised, make, PATCH Ready");
}

TEST_CASE_FIXTURE(CopyLab, "an API server that does not keep the promise gets nothing made") {
  server.unknown_fields = {"promised"};
  give();
  for (int i = 0; i < 2; ++i) {
    const Error error = failed_pass();
    CHECK(error.code() == ErrorCode::kInvalid);
    CHECK(error.message().find("did not keep status.promised") != std::string::npos);
    watch(name);
  }
  CHECK_FALSE(did("make " + volume));
  CHECK(storage.present.volumes.empty());
}

TEST_CASE_FIXTURE(CopyLab, "an order that is gone, or of another object by now, is let go") {
  give();
  SUBCASE("gone") {
    server.erase(name);
    finish();
    CHECK(done() == "404");
  }
  SUBCASE("another") {
    server.make_anew(order);
    finish();
    CHECK(done() == "GET");
  }
  CHECK(record() == nullptr);
}

TEST_CASE_FIXTURE(CopyLab, "what no watch has brought is no work") {
  const auto passed = pass_of("pvc-unknown");
  REQUIRE(passed);
  CHECK(*passed == Pass::kDone);
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(CopyLab, "an order of another node is not answered") {
  order.node = "node-b";
  give();
  finish();
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(CopyLab, "an order of another cluster is answered, and not carried out") {
  order.volume.cluster_id = kOtherUid;
  give();
  finish();
  CHECK(condition()->reason == "NotHere");
  CHECK(storage.present.records.empty());
}

TEST_CASE_FIXTURE(CopyLab, "an order that is not understood is answered by the condition alone") {
  make_ready();
  const CopyStatus before = status();
  order.desired = DesiredState::kRemoved;
  server.order(order);
  server.spec_from = R"("desiredState":"Removed")";
  server.spec_to = R"("desiredState":"Sealed")";
  watch(name);
  finish();
  CHECK(done() == "PATCH Ready");
  CHECK(condition()->reason == "NotUnderstood");
  CHECK(condition()->message ==
        "this node does not understand its order: spec.desiredState is \"Sealed\"; this version "
        "knows Serving, Retained, Removed, Withdrawn; update its flexlocal-provisioner");
  CopyStatus after = status();
  CHECK(after.observed_generation == 2);
  after.observed_generation = before.observed_generation;
  after.conditions = before.conditions;
  CHECK(after == before);
}

// A leader that asks whether it was ever made goes by the first answer.
TEST_CASE_FIXTURE(CopyLab, "that it is lost, and may have been made, is one answer") {
  storage.make_status = Error(ErrorCode::kFailed, "not yet");
  give();
  (void)passes_of(name);
  REQUIRE(status().state == CopyState::kPromised);
  storage.present.records.clear();  // the root disk is another one
  restart();
  give(DesiredState::kRetained);
  for (left = 1; status().state != CopyState::kLost && left < 10;) {
    const int most = left;
    (void)pass();
    left = most + 1;
    if (status().state != CopyState::kLost) restart(), watch(name);
  }
  REQUIRE(status().state == CopyState::kLost);
  CHECK(status().made);
}

TEST_CASE_FIXTURE(CopyLab,
                  "that a pod had it made while its agent was away is in the answer to Retained") {
  storage.make_status = Error(ErrorCode::kFailed, "not yet");
  give();
  (void)passes_of(name);
  REQUIRE_FALSE(status().made);
  storage.add_volume(order.volume);
  record()->state = engine::RecordState::kReady;
  restart();
  give(DesiredState::kRetained);
  finish();
  CHECK(status().state == CopyState::kRetained);
  CHECK(status().made);
}

// It was never made, and its order was withdrawn at once before there was a question.
TEST_CASE_FIXTURE(CopyLab, "a promise whose name is taken on the disk can be retained") {
  storage.make_status = Error(ErrorCode::kFailed, "not yet");
  give();
  (void)passes_of(name);
  REQUIRE(status().state == CopyState::kPromised);
  engine::LogicalVolume stranger;
  stranger.group = "vg";
  stranger.name = volume;
  stranger.size = kGiB;
  storage.present.volumes.push_back(stranger);
  restart();
  SUBCASE("as it can be withdrawn") {
    give(DesiredState::kRemoved);
    finish();
    CHECK(status().state == CopyState::kRemoved);
  }
  SUBCASE("") {
    give(DesiredState::kRetained);
    (void)passes_of(name);
    const CopyState state = status().state;
    const bool is_closed =
        state == CopyState::kRetained || state == CopyState::kRefused || state == CopyState::kLost;
    CHECK(is_closed);
  }
}

}  // namespace flexlocal::provisioner::test
