#include "provisioner/controller/view/unordered_copies.h"

#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

// As an agent tells it.
ToldCopy told_copy(const std::string& uid = kUid) {
  engine::VolumeSpec volume = sample_spec(uid);
  volume.cluster_id.clear();
  return {.volume = volume, .claim_uid = uid, .claim_name = "data", .ready = true};
}

struct Fixture : OrderLab {
  Fixture() { know_claim(sample_claim()); }
  void tell(const ToldCopy& copy, const std::string& node = kNode) {
    beside[node] = {copy};
    beat(node);
  }
  std::string did() {
    const auto worked = wait_for(orders.work("shop/data"));
    REQUIRE_MESSAGE(worked, worked.error().message());
    return server.done();
  }
  void choose(DesiredState desired) {
    const VolumeCopy known = copy();
    CopyOrder order = *known.order;
    order.desired = desired;
    put(copies, server.patch(copy_path(known.name), order_patch(known, order)));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the claim's own volume is kept on its node, and a person chooses") {
  tell(told_copy());
  CHECK(did() == "POST volumecopies");
  CHECK(order().desired == DesiredState::kRetained);
  CHECK(order().origin == Origin::kExisting);
  CHECK(order().volume.copy == kCopy);
  CHECK(order().term == kTerm);
  answer(CopyState::kRetained);
  CHECK(did() == "");
  CHECK(event_says("node node-a has a volume of this claim, which is retained"));
  CHECK_FALSE(has_volume());
  SUBCASE("to use it") {
    choose(DesiredState::kServing);
    CHECK(did() == "");
    answer(CopyState::kReady);
    CHECK(did() == "POST persistentvolumes");
    CHECK(volume_there().copy == kCopy);
  }
  SUBCASE("to give it up") {
    choose(DesiredState::kRemoved);
    beside.clear();
    answer(CopyState::kRemoved);
    beat(kNode);
    CHECK(did() == "POST volumecopies");
    CHECK(copy_count() == 2);
  }
}

TEST_CASE_FIXTURE(Fixture, "where the API server was put back it serves again, wherever it is") {
  know_node(kOtherNode);
  put_back = true;
  roll.begin(kTerm);
  tell(told_copy(), kOtherNode);
  pass(seconds(1));
  CHECK(did() == "POST volumecopies");
  CHECK(order().desired == DesiredState::kServing);
  CHECK(order().origin == Origin::kExisting);
  CHECK(order().node == kOtherNode);
  CHECK(order().volume.size == kGiB);
  // The scheduler had chosen another one, which has nothing; and nobody's silence takes it away.
  pass(seconds(60));
  CHECK(did() == "");
  answer(CopyState::kReady);
  CHECK(did() == "POST persistentvolumes");
  CHECK(volume_there().node == kOtherNode);
}

TEST_CASE_FIXTURE(Fixture,
                  "a claim that waits for a node that does not answer is told once a minute") {
  know_node(kOtherNode);
  put_back = true;
  roll.begin(kTerm);
  for (int second = 0; second < 100; ++second) {
    manual.advance(seconds(1));
    if (second % 10 == 0) beat(kNode);
    CHECK(did() == "");
  }
  const std::string said = events_text();
  CHECK(said.find("node node-b has not renewed its Lease yet") != std::string::npos);
  CHECK(std::ranges::count(said, '\n') == 2);
}

TEST_CASE_FIXTURE(Fixture, "where two nodes have one, or it was never complete, a person chooses") {
  know_node(kOtherNode);
  put_back = true;
  roll.begin(kTerm);
  ToldCopy unready = told_copy();
  unready.ready = false;
  SUBCASE("never complete") { beside[kOtherNode] = {unready}; }
  SUBCASE("two of them") {
    beside[kOtherNode] = {told_copy()};
    unready.volume.copy = "fedcba9876543210";
    beside[kNode] = {unready};
  }
  pass(seconds(1));
  CHECK(did() == "POST volumecopies");
  CHECK(order().desired == DesiredState::kRetained);
  CHECK(order().node == kOtherNode);
}

TEST_CASE_FIXTURE(Fixture,
                  "an order of before a put-back is not withdrawn, whatever is not known") {
  CopyOrder before = sample_order();
  before.origin = Origin::kNew;
  before.term = kTerm - 1;
  know_copy(before);
  put_back = true;
  roll.begin(kTerm);
  SUBCASE("in silence") {}
  SUBCASE("for another node") {
    Claim moved = sample_claim();
    moved.selected_node = kOtherNode;
    know_claim(moved);
  }
  pass(seconds(60));
  REQUIRE(roll.is_over());
  CHECK(did() == "");
  CHECK(order().desired == DesiredState::kServing);
  CHECK(event_says("it may have the volume"));
}

TEST_CASE_FIXTURE(Fixture,
                  "an order of an earlier leader is bound where no other node has the volume") {
  know_node(kOtherNode);
  CopyOrder before = sample_order();
  before.origin = Origin::kNew;
  before.term = kTerm - 1;
  before.volume.copy = "fedcba9876543210";
  know_copy(before);
  answer(CopyState::kPromised);
  roll.begin(kTerm);
  CHECK(did() == "");  // before all nodes were heard
  ToldCopy other = told_copy();
  bool told = false;
  SUBCASE("one has") {
    beside[kOtherNode] = {other};
    told = true;
  }
  SUBCASE("none has") {}
  pass(seconds(1));
  CHECK(did() == (told ? "" : "POST persistentvolumes"));
  CHECK(event_says("none is bound before a person has looked") == told);
}

TEST_CASE_FIXTURE(Fixture, "what a node alone says of a put-back draws no claim to it") {
  roll.begin(kTerm);
  beside[kNode] = {told_copy()};
  pass(seconds(1));
  beat(kNode, kTerm - 1);
  REQUIRE(roll.shows_put_back());
  CHECK(did() == "POST volumecopies");
  CHECK(order().desired == DesiredState::kRetained);
}

TEST_CASE_FIXTURE(Fixture, "an earlier claim of the name holds this one back until a person says") {
  tell(told_copy(kOtherUid));
  CHECK(did() == "POST volumecopies");
  CHECK(order().desired == DesiredState::kRetained);
  CHECK(order().volume.name.text() == "pvc-" + kOtherUid);
  CHECK(order().claim_uid == kOtherUid);
  CHECK(copy().holds == "shop/data");
  beside.clear();
  beat(kNode);
  CHECK(did() == "");
  CHECK(event_says("node node-a has the volume of an earlier claim of this name"));
  answer(CopyState::kRetained);
  CHECK(did() == "");
  SUBCASE("to give it up") { choose(DesiredState::kRemoved); }
  SUBCASE("to leave it there") {
    put(copies, server.patch(copy_path(copy().name),
                             R"({"metadata":{"annotations":{"flexlocal.io/holds":null}}})"));
  }
  CHECK(did() == "POST volumecopies");
  CHECK(copy_count() == 2);
}

TEST_CASE_FIXTURE(Fixture, "other volumes hold nobody back") {
  ToldCopy other = told_copy(kOtherUid);
  SUBCASE("another name") { other.claim_name = "other"; }
  SUBCASE("another namespace") { other.volume.claim_namespace = "bank"; }
  SUBCASE("no name is known") { other.claim_name.clear(); }
  SUBCASE("it was never complete") { other.ready = false; }
  SUBCASE("it was kept when its claim went") { other.retained = true; }
  tell(other);
  CHECK(did() == "POST volumecopies");
  CHECK(order().origin == Origin::kNew);
}

TEST_CASE_FIXTURE(Fixture, "a volume of the claim goes before one of its name") {
  know_node(kOtherNode);
  tell(told_copy(kOtherUid));
  tell(told_copy(), kOtherNode);
  CHECK(did() == "POST volumecopies");
  CHECK(order().node == kOtherNode);
  CHECK(copy().holds.empty());
}

TEST_CASE_FIXTURE(Fixture, "those are found that no VolumeCopy names, by the name it would have") {
  CopyOrder ordered = sample_order();
  know_copy(ordered);
  const ToldCopy other = told_copy(kOtherUid);
  beside[kNode] = {told_copy(), other};
  beat(kNode);
  const std::string name = copy_name(other.volume);
  CHECK(unordered.names() == std::set<std::string>{name});
  REQUIRE(unordered.find(name));
  CHECK(unordered.find(name)->node.name == kNode);
  CHECK(unordered.find(name)->copy == other);
  CHECK_FALSE(unordered.find(copy_name(ordered)));
}

}  // namespace flexlocal::provisioner::test
