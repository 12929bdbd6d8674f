#include "provisioner/controller/view/copy_index.h"

#include "test/unit/controller/orders/order_lab.h"

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
  Bytes uncounted(const std::string& node = kNode, const std::string& pool = "default") {
    Node asked;
    asked.name = node;
    NodeHealth health;
    health.silent_for = silent_for;
    return index.uncounted({asked, health, &beat}, pool);
  }
  void count(const std::string& copy_id) {
    beat.report.roll = CopyRoll();
    beat.report.roll->counted = {"fedcba9876543210", copy_id};
  }
  NodeHeartbeat beat;
  nanoseconds silent_for{};
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
  // Also one that was never understood, and that alone.
  const std::string other = "pvc-" + kOtherUid;
  put(copies, concat(R"({"metadata":{"name":")", other, R"(-0","resourceVersion":"9000000"}})"));
  put(copies, concat(R"({"metadata":{"name":")", other, R"(0-0","resourceVersion":"9000001"}})"));
  put(copies, concat(R"({"metadata":{"name":")", other, R"(-1-0","resourceVersion":"9000002"}})"));
  put(copies, concat(R"({"metadata":{"name":")", other, R"(","resourceVersion":"9000003"}})"));
  CHECK(index.names_of(other) == std::vector<std::string>{other + "-0"});
  CHECK(index.of_volume(other).size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "an agent sees what its label names, wherever that was before") {
  const std::string other = "pvc-" + kOtherUid + "-0";
  const auto label = [&](const std::string& node, int version) {
    put(copies, concat(R"({"metadata":{"name":")", other, R"(","resourceVersion":")", version,
                       R"(","labels":{"flexlocal.io/node":")", node, R"("}}})"));
  };
  label(kOtherNode, 9000000);
  CHECK(index.names_seen_by(kNode) == std::vector<std::string>{name});
  CHECK(index.names_seen_by(kOtherNode) == std::vector<std::string>{other});
  label(kNode, 9000001);
  CHECK(index.names_seen_by(kOtherNode).empty());
  CHECK(index.names_seen_by(kNode).size() == 2);
  label("", 9000002);
  CHECK(index.names_seen_by(kNode) == std::vector<std::string>{name});
}

TEST_CASE_FIXTURE(Fixture,
                  "what is not answered counts for as long as it takes, in its pool alone") {
  CHECK(uncounted() == kGiB);
  CHECK(uncounted(kNode, "fast") == Bytes());
  CHECK(uncounted(kOtherNode) == Bytes());
  manual.advance(std::chrono::hours(1));
  CHECK(uncounted() == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "an order counts until the node says that its figures have it") {
  count("0000000000000000");
  CHECK(uncounted() == kGiB);
  // Also one that is made at once, before the node has spoken again.
  answer(CopyState::kPromised);
  answer(CopyState::kReady);
  CHECK(uncounted() == kGiB);
  count(kCopy);
  CHECK(uncounted() == Bytes());
  // For good: the node does not say so for ever.
  count("0000000000000000");
  answer(CopyState::kReady, "it is told again");
  CHECK(uncounted() == Bytes());
}

TEST_CASE_FIXTURE(Fixture, "what the node counts before it could answer is not counted twice") {
  count(kCopy);
  CHECK(uncounted() == Bytes());
  answer(CopyState::kPromised);
  CHECK(uncounted() == Bytes());
}

TEST_CASE_FIXTURE(Fixture, "what was made before this leader came, or was there, is counted") {
  answer(CopyState::kReady);
  CopyIndex later(copies, manual);
  put(copies, server.patch(copy_path(name), R"({"metadata":{"annotations":{"a":"b"}}})"));
  Node node;
  node.name = kNode;
  CHECK(later.uncounted({node, {}, &beat}, "default") == Bytes());
  CHECK(uncounted() == kGiB);
  CopyOrder other = sample_order(sample_spec(kOtherUid));
  other.origin = Origin::kExisting;
  know_copy(other);
  CHECK(uncounted() == kGiB);
}

TEST_CASE_FIXTURE(
    Fixture, "a promise that is not said to be counted counts until the node has beaten twice") {
  answer(CopyState::kPromised);
  manual.advance(2 * kHeartbeatInterval - nanoseconds(1));
  CHECK(uncounted() == kGiB);
  manual.advance(nanoseconds(1));
  CHECK(uncounted() == Bytes());
  answer(CopyState::kPromised, "it is told again");
  CHECK(uncounted() == Bytes());
}

TEST_CASE_FIXTURE(Fixture, "what is refused is not counted beside the node's figures") {
  answer(CopyState::kRefused);
  CHECK(uncounted() == Bytes());
}

TEST_CASE_FIXTURE(Fixture, "what a volume is to grow to is not counted as ordered") {
  answer(CopyState::kPromised);
  CopyOrder grown = sample_order();
  grown.volume.size = kTenGiB;
  REQUIRE(wait_for(desk.change(copy(), grown)));
  CHECK(uncounted() == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "two beats are two beats, however long they take") {
  answer(CopyState::kPromised);
  silent_for = 2 * kHeartbeatInterval;
  manual.advance(3 * kHeartbeatInterval - nanoseconds(1));
  CHECK(uncounted() == kGiB);
  manual.advance(nanoseconds(1));
  CHECK(uncounted() == Bytes());
}

TEST_CASE_FIXTURE(Fixture, "a new leader counts what was promised and not made before it came") {
  answer(CopyState::kPromised);
  CopyIndex later(copies, manual);
  put(copies, server.patch(copy_path(name), R"({"metadata":{"annotations":{"a":"b"}}})"));
  Node node;
  node.name = kNode;
  CHECK(later.uncounted({node, {}, &beat}, "default") == kGiB);
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

TEST_CASE_FIXTURE(
    Fixture, "the removal of what was promised is no open withdrawal: it takes room until then") {
  answer(CopyState::kPromised);
  order(DesiredState::kRemoved);
  CHECK_FALSE(index.has_open_withdrawal(kNode));
  CHECK(uncounted() == kGiB);
  CHECK(index.has_left_of(volume, kNode));
  answer(CopyState::kRemoved);
  CHECK_FALSE(index.has_left_of(volume, kNode));
  CHECK(uncounted() == Bytes());
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
