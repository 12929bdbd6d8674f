// What the agent's worker does about orders that let a copy grow.
#include "flexvolume/base/text.h"
#include "test/unit/agent/copy_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : CopyLab {
  // A copy of 1 GiB is there, and 1 GiB more in its group.
  Fixture() { make_ready(); }
  void ask_for(Bytes size) {
    order.volume.size = size;
    give();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "a copy grows by the spec that it was made with, to what is ordered now") {
  ask_for(kTwoGiB);
  finish();
  CHECK(done() == concat("PATCH Ready, follow order 2 for ", kUid, ", grow to 2048, PATCH Ready"));
  CHECK(status().size == kTwoGiB);
  CHECK(status().observed_generation == 2);
  CHECK(condition() == nullptr);
  CHECK_FALSE(ledger().has_reservations());
}

TEST_CASE_FIXTURE(Fixture, "a growth that there is no room for is said once, beside Ready") {
  ask_for(Bytes(3 * kGiB.count()));
  for (int i = 0; i < 3; ++i) {
    finish();
    CHECK(status().state == CopyState::kReady);
    CHECK_FALSE(condition()->holds);
    CHECK(condition()->reason == "NotGrown");
    CHECK(condition()->message ==
          "pool \"default\" has 1 GiB free for backend lvm, 2 GiB more "
          "asked");
  }
  CHECK(done() == concat("PATCH Ready, follow order 2 for ", kUid, ", PATCH Ready"));
  CHECK(lv().size == kGiB);
  CHECK_FALSE(ledger().has_reservations());
}

TEST_CASE_FIXTURE(Fixture,
                  "a growth is carried out once there is room, and the condition says so") {
  ask_for(Bytes(3 * kGiB.count()));
  finish();
  const Clock::Wall since = condition()->since;
  storage.free() = kTwoGiB;
  manual.advance(std::chrono::minutes(1));
  finish();
  CHECK(status().size == Bytes(3 * kGiB.count()));
  CHECK(condition()->holds);
  CHECK(condition()->reason == "AsOrdered");
  CHECK(condition()->since > since);
}

TEST_CASE_FIXTURE(Fixture, "a growth that fails is an error, and nothing stays reserved") {
  storage.grow_status = Error(ErrorCode::kDeadline, "lvextend did not end");
  ask_for(kTwoGiB);
  CHECK(failed_pass().message() == "lvextend did not end");
  CHECK(condition()->reason == "NotGrown");
  CHECK_FALSE(ledger().has_reservations());
  storage.grow_status = Status();
  finish();
  CHECK(condition()->holds);
}

TEST_CASE_FIXTURE(Fixture,
                  "growth counts against the budget, and what is there is kept beyond it") {
  budget.memory = Bytes(48 * kMiB.count());  // 1305 MiB of disk
  ask_for(kTwoGiB);
  finish();
  CHECK(condition()->reason == "NotGrown");
  CHECK_FALSE(did("grow " + volume + " to 2048"));
  budget.memory = kMiB;
  ask_for(kGiB);
  finish();
  CHECK(status().state == CopyState::kReady);
  CHECK(condition()->holds);
}

TEST_CASE_FIXTURE(Fixture, "a file system that grows at the next mount is said, until it did") {
  storage.present.behind.insert(volume);
  ask_for(kTwoGiB);
  finish();
  const CopyCondition* pending = condition(kFileSystemResizePending);
  REQUIRE(pending != nullptr);
  CHECK(pending->holds);
  storage.present.behind.clear();
  ledger().forget();
  finish();
  pending = condition(kFileSystemResizePending);
  REQUIRE(pending != nullptr);
  CHECK_FALSE(pending->holds);
}

TEST_CASE_FIXTURE(CopyLab, "what grows before it was made is made as it was promised, and grows") {
  storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
  give();
  (void)failed_pass();
  storage.make_status = Status();
  order.volume.size = kTwoGiB;
  give();
  finish();
  CHECK(record()->spec.size == kGiB);
  CHECK(lv().size == kTwoGiB);
  CHECK(status().size == kTwoGiB);
  CHECK(condition()->holds);
}

}  // namespace flexlocal::provisioner::test
