#include "provisioner/controller/copy_index.h"

#include "test/unit/controller/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

struct Fixture : OrderLab {
  const std::string name = copy_name(sample_order());

  Fixture() { know_copy(sample_order()); }
  void order(DesiredState desired) {
    CopyOrder changed = sample_order();
    changed.desired = desired;
    REQUIRE(wait_for(desk.change(copy(), changed)));
  }
  Bytes uncounted() { return index.uncounted(kNode, "default"); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a copy is found by its volume and its id, and no other is") {
  CHECK(index.of_volume(volume).size() == 1);
  REQUIRE(index.find(volume, kCopy) != nullptr);
  CHECK(index.find(volume, kCopy)->name == name);
  CHECK(index.find(volume, "fedcba9876543210") == nullptr);
  CHECK(index.of_volume("pvc-" + kOtherUid).empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a copy that is not understood is found by its name, and never as a copy") {
  put(copies, server.patch(copy_path(name), R"({"spec":{"desiredState":"Sealed"}})"));
  REQUIRE(index.of_volume(volume).size() == 1);
  CHECK_FALSE(index.of_volume(volume).front()->order);
  CHECK(index.find(volume, kCopy) == nullptr);
  CHECK(index.has_left_of(volume, kNode));
  // Also one that was never understood.
  const std::string other = "pvc-" + kOtherUid;
  put(copies, concat(R"({"metadata":{"name":")", other, R"(-0","resourceVersion":"9000000"}})"));
  CHECK(index.of_volume(other).size() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "what is not answered counts for as long as it takes, in its pool alone") {
  CHECK(uncounted() == kGiB);
  CHECK(index.uncounted(kNode, "fast") == Bytes());
  CHECK(index.uncounted(kOtherNode, "default") == Bytes());
  manual.advance(std::chrono::hours(1));
  CHECK(uncounted() == kGiB);
}

TEST_CASE_FIXTURE(Fixture,
                  "a promise counts until the node has beaten twice, whatever else it says") {
  answer(CopyState::kPromised);
  manual.advance(2 * kHeartbeatInterval - nanoseconds(1));
  CHECK(uncounted() == kGiB);
  manual.advance(nanoseconds(1));
  CHECK(uncounted() == Bytes());
  answer(CopyState::kPromised, "it is told again");
  CHECK(uncounted() == Bytes());
}

TEST_CASE_FIXTURE(Fixture,
                  "what is made, refused or withdrawn is not counted beside the node's figures") {
  const CopyStatus said = copy().status;
  for (const CopyState state : {CopyState::kReady, CopyState::kRefused}) {
    answer(copy(), said);
    answer(state);
    CHECK(uncounted() == Bytes());
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a withdrawn order is not counted as room, and is open until it is answered") {
  CHECK_FALSE(index.has_open_withdrawal(kNode));
  order(DesiredState::kRemoved);
  CHECK(uncounted() == Bytes());
  CHECK(index.has_open_withdrawal(kNode));
  CHECK_FALSE(index.has_open_withdrawal(kOtherNode));
  answer(CopyState::kRemoving);
  CHECK(index.has_open_withdrawal(kNode));
  answer(CopyState::kRemoved);
  CHECK_FALSE(index.has_open_withdrawal(kNode));
}

TEST_CASE_FIXTURE(Fixture,
                  "the removal of what was promised is no open withdrawal: the node counts it") {
  answer(CopyState::kPromised);
  order(DesiredState::kRemoved);
  CHECK_FALSE(index.has_open_withdrawal(kNode));
  CHECK(index.has_left_of(volume, kNode));
  answer(CopyState::kRemoved);
  CHECK_FALSE(index.has_left_of(volume, kNode));
}

TEST_CASE_FIXTURE(Fixture, "an order is unanswered since its generation was seen first") {
  manual.advance(seconds(3));
  CHECK(index.unanswered_for(copy()) == nanoseconds(seconds(3)));
  // Seen again, as the watch shows each change.
  put(copies, server.patch(copy_path(name), R"({"metadata":{"annotations":{"a":"b"}}})"));
  manual.advance(seconds(3));
  CHECK(index.unanswered_for(copy()) == nanoseconds(seconds(6)));
  answer(CopyState::kPromised);
  CHECK(index.unanswered_for(copy()) == std::nullopt);
  order(DesiredState::kRetained);
  manual.advance(seconds(1));
  CHECK(index.unanswered_for(copy()) == nanoseconds(seconds(1)));
}

TEST_CASE_FIXTURE(Fixture, "an answer that only says what is in the way is none yet") {
  answer(CopyState::kUnsaid, "the record is damaged");
  manual.advance(seconds(3));
  CHECK(index.unanswered_for(copy()) == nanoseconds(seconds(3)));
}

TEST_CASE_FIXTURE(Fixture, "the answer to an earlier order is none to this one") {
  const VolumeCopy earlier = copy();
  order(DesiredState::kRetained);
  CopyStatus late;
  late.state = CopyState::kPromised;
  late.observed_generation = earlier.generation;
  JsonWriter json;
  write_status(json, late);
  put(copies, server.patch(copy_path(name), concat(R"({"status":)", json.take(), "}")));
  CHECK(index.unanswered_for(copy()).has_value());
}

TEST_CASE_FIXTURE(Fixture, "the highest term is that of any order, 0 without one") {
  CHECK(index.highest_term() == 0);
  CopyOrder other = sample_order(sample_spec(kOtherUid));
  other.term = 41;
  other.desired = DesiredState::kRemoved;
  know_copy(other);
  CHECK(index.highest_term() == 41);
}

}  // namespace flexlocal::provisioner::test
