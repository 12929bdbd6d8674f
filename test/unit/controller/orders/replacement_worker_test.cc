#include "provisioner/controller/orders/replacement_worker.h"

#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

const std::string kThirdNode = "node-c";
const std::string kSwitch =
    "DELETE persistentvolumes, PATCH persistentvolumes, POST persistentvolumes, "
    "LIST pods, GET persistentvolumeclaims, PATCH persistentvolumeclaims";

// A claim that is bound to a volume of node-a, which has promised it, and room on node-b.
struct Fixture : OrderLab {
  Fixture() {
    know_claim(bound_claim("1Gi"));
    know_copy(sample_order());
    answer(CopyState::kPromised, "");
    CopyStatus promised = copy().status;
    promised.promised = true;
    answer(copy(), promised);
    know_volume("Bound");
    change_volume(
        R"({"metadata":{"finalizers":["kubernetes.io/pv-protection","flexlocal.io/reclaim"]}})");
    know_node(kOtherNode);
    server.journal.clear();
  }

  // The node turned its record from promised to refused.
  void break_promise() { answer(copy(), CopyState::kRefused, "the pool is full"); }
  using OrderLab::answer;
  void answer(const VolumeCopy& known, CopyState state, const std::string& why = "") {
    CopyStatus status = known.status;
    status.state = state;
    status.promised = status.promised || state == CopyState::kPromised;
    status.conditions = {{std::string(kAsOrdered), why.empty(), "Said", why, {}}};
    answer(known, status);
  }
  std::optional<VolumeCopy> found_on(const std::string& node) const {
    for (const std::string& path : server.paths(copies_path()))
      if (auto known = decode_copy(parsed(server.text(path)).root()); known->agent == node)
        return known;
    return std::nullopt;
  }
  bool is_on(const std::string& node) const { return found_on(node).has_value(); }
  VolumeCopy copy_on(const std::string& node) const {
    const auto found = found_on(node);
    REQUIRE_MESSAGE(found, "no copy on ", node);
    return *found;
  }
  bool concerns() { return replacements.concerns(bound_claim("1Gi")); }
  Requeue work() { return wait_for(replacements.work(bound_claim("1Gi"))); }
  std::string did() {
    const auto worked = work();
    REQUIRE_MESSAGE(worked, worked.error().message());
    return server.done();
  }
  // What the watch shows of the PersistentVolume. What is not ours is not kept.
  void watch_volume() {
    if (server.has(kVolumePath)) {
      put(volumes, server.patch(kVolumePath, "{}"));
      return;
    }
    const std::string nobodys = R"({"metadata":{"annotations":null}})";
    put(volumes, server.put(kVolumePath, merged(volume_text(sample_spec(), ""), nobodys)));
    server.erase(kVolumePath);
  }
  std::string collected(const std::string& node) {
    REQUIRE(wait_for(collector.work(copy_on(node))));
    return server.done();
  }
  std::string ended() {
    REQUIRE(wait_for(ends.work(volume)));
    return server.done();
  }
  // Up to the other node's promise.
  void give_it_elsewhere() {
    break_promise();
    CHECK(did() == "PATCH volumecopies");
    CHECK(did() == "POST volumecopies");
    answer(copy_on(kOtherNode), CopyState::kPromised);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a volume whose promise holds is nothing to replace") {
  CHECK_FALSE(concerns());
  CHECK(did() == "");
  answer(copy(), CopyState::kReady);
  CHECK_FALSE(concerns());
  answer(copy(), CopyState::kLost, "its disk is gone");
  CHECK_FALSE(concerns());
}

// As an earlier leader sends it late: kube-controller-manager binds it before anybody has seen it.
TEST_CASE_FIXTURE(Fixture,
                  "a PersistentVolume of a copy that was withdrawn gets the other's place") {
  CopyOrder withdrawn = *copy().order;
  withdrawn.desired = DesiredState::kWithdrawn;
  know_copy(withdrawn);
  CopyOrder successor = sample_order();
  successor.volume.copy = "00000000000000bb";
  successor.node = kOtherNode;
  know_copy(successor);
  answer(copy_on(kOtherNode), CopyState::kPromised);
  SUBCASE("once its node has answered that no pod had it") {
    CopyStatus made = copy_on(kNode).status;
    made.made = true;
    answer(copy_on(kNode), made);
    answer(copy_on(kNode), CopyState::kRemoved);
    CHECK(ended() == "");
    CHECK(collected(kOtherNode) == "");
    CHECK(collected(kNode) == "");
    pass(seconds(600));
    CHECK(collected(kNode) == "");
    CHECK(did() == "PATCH volumecopies");
    CHECK(event_says("was withdrawn already. No pod has had it"));
    CHECK(ended() == "");
    CHECK(did() == kSwitch);
    CHECK(volume_there().node == kOtherNode);
  }
  SUBCASE("but serves where a pod may have had it") {
    answer(copy_on(kNode), CopyState::kRetained);
    CHECK_FALSE(concerns());
    CHECK(ended() == "PATCH volumecopies");
    CHECK(copy_on(kNode).order->desired == DesiredState::kServing);
  }
  SUBCASE("and waits until its node has heard of the withdrawal") {
    CHECK_FALSE(concerns());
    CHECK(ended() == "");
  }
}

TEST_CASE_FIXTURE(Fixture, "a promise that is given up moves the volume, under the same claim") {
  break_promise();
  CHECK(concerns());
  CHECK(did() == "PATCH volumecopies");
  CHECK(copy().given_up);
  CHECK(copy().order->desired == DesiredState::kWithdrawn);
  CHECK(event_says("node node-a cannot make the volume that it promised: the pool is full"));
  CHECK(did() == "POST volumecopies");
  const CopyOrder given = *copy_on(kOtherNode).order;
  CHECK(given.origin == Origin::kNew);
  CHECK(given.claim_uid == kUid);
  CHECK(given.volume.copy != kCopy);
  CHECK(given.volume.size == kGiB);
  CHECK(given.term == kTerm);
  CHECK(did() == "");
  answer(copy_on(kOtherNode), CopyState::kPromised);
  CHECK(did() == kSwitch);
  CHECK(volume_there().node == kOtherNode);
  CHECK(volume_there().copy == given.volume.copy);
  CHECK(volume_there().claim_uid == kUid);
  watch_volume();
  CHECK_FALSE(concerns());
}

TEST_CASE_FIXTURE(Fixture, "whoever waits on the earlier node is named") {
  server.put("/api/v1/namespaces/shop/pods/db-0", R"({"metadata":{"name":"db-0"},"spec":{
    "nodeName":"node-a","volumes":[{"persistentVolumeClaim":{"claimName":"data"}}]}})");
  give_it_elsewhere();
  CHECK(did() == kSwitch);
  CHECK(event_says("is on node node-b now; delete pod db-0 if sent elsewhere before"));
}

TEST_CASE_FIXTURE(Fixture, "an answer that is lost at any step changes nothing of how it ends") {
  const char* lost = "";
  SUBCASE("") { lost = "PATCH volumecopies"; }
  SUBCASE("") { lost = "POST volumecopies"; }
  SUBCASE("") { lost = "DELETE persistentvolumes"; }
  SUBCASE("") { lost = "PATCH persistentvolumes"; }
  SUBCASE("") { lost = "POST persistentvolumes"; }
  SUBCASE("") { lost = "PATCH persistentvolumeclaims"; }
  CAPTURE(lost);
  break_promise();
  server.loses_answer_of = lost;
  for (int pass = 0; pass < 8; ++pass) {
    static_cast<void>(work());
    // What the watch brings of it all.
    for (const std::string& path : server.paths(copies_path()))
      put(copies, server.patch(path, "{}"));
    watch_volume();
    if (copy_count() == 2 && copy_on(kOtherNode).status.state == CopyState::kUnsaid)
      answer(copy_on(kOtherNode), CopyState::kPromised);
    CHECK(copy_count() <= 2);
  }
  CHECK_FALSE(concerns());
  CHECK(volume_there().copy == copy_on(kOtherNode).order->volume.copy);
  CHECK(copy_on(kOtherNode).order->desired == DesiredState::kServing);
  CHECK(copy_on(kNode).given_up);
}

TEST_CASE_FIXTURE(Fixture, "both copies stay for as long as the claim is between them") {
  give_it_elsewhere();
  answer(copy_on(kNode), CopyState::kRemoved);
  for (const std::string& node : {kNode, kOtherNode}) {
    pass(seconds(60));
    CHECK(collected(node) == "");
  }
  SUBCASE("until the PersistentVolume names the other") {
    CHECK(did() == kSwitch);
    watch_volume();
    CHECK(collected(kOtherNode) == "");
    CHECK(collected(kNode) == "");
    pass(seconds(60));
    CHECK(collected(kNode) == "DELETE volumecopies");
  }
  SUBCASE("also where the leader was killed before the second PersistentVolume was there") {
    server.erase(kVolumePath);
    watch_volume();
    pass(seconds(60));
    for (const std::string& node : {kNode, kOtherNode}) CHECK(collected(node) == "");
    CHECK(did() ==
          "POST persistentvolumes, GET persistentvolumeclaims, PATCH persistentvolumeclaims");
    CHECK(volume_there().node == kOtherNode);
  }
  SUBCASE("and go with the claim") {
    Claim other = bound_claim("1Gi");
    other.uid = kOtherUid;
    know_claim(other);
    change_volume(R"({"status":{"phase":"Released"}})");
    CHECK(ended() == "DELETE persistentvolumes");
    CHECK(ended() == "PATCH persistentvolumes");
    watch_volume();
    CHECK(collected(kOtherNode) ==
          "GET persistentvolumeclaims, GET persistentvolumes, PATCH volumecopies");
    CHECK(copy_on(kOtherNode).order->desired == DesiredState::kWithdrawn);
    CHECK(collected(kNode) == "GET persistentvolumeclaims");
    pass(seconds(60));
    CHECK(collected(kNode) == "GET persistentvolumeclaims, DELETE volumecopies");
  }
}

TEST_CASE_FIXTURE(Fixture, "what was given up is not ordered again, whoever deletes its volume") {
  break_promise();
  CHECK(did() == "PATCH volumecopies");
  CHECK(ended() == "");
  change_volume(R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  CHECK(ended() == "");
  CHECK(copy().order->desired == DesiredState::kWithdrawn);
  CHECK(did() == "POST volumecopies");
  answer(copy_on(kOtherNode), CopyState::kPromised);
  CHECK(did() == kSwitch.substr(kSwitch.find("PATCH")));
}

TEST_CASE_FIXTURE(Fixture, "a node that does not take it either is passed over") {
  know_node(kThirdNode);
  break_promise();
  CHECK(did() == "PATCH volumecopies");
  CHECK(did() == "POST volumecopies");
  const std::string first = is_on(kOtherNode) ? kOtherNode : kThirdNode;
  const VolumeCopy second = copy_on(first);
  SUBCASE("for it refuses") {
    answer(second, CopyState::kRefused, "no tools");
    CHECK(did() == "PATCH volumecopies");
    CHECK(event_says("cannot have the volume: no tools; another node is looked for"));
  }
  SUBCASE("for it does not answer") {
    CHECK(did() == "");
    pass(kOrderTimeout);
    CHECK(did() == "PATCH volumecopies");
    CHECK(event_says("has not answered for 10 s"));
  }
  CHECK_FALSE(copy_on(first).given_up);
  CHECK(copy_on(first).order->desired == DesiredState::kWithdrawn);
  CHECK(did() == "POST volumecopies");
  CHECK(copy_count() == 3);
}

TEST_CASE_FIXTURE(Fixture, "where no other node has room the claim waits, and says so") {
  know_node(kOtherNode, Bytes());
  break_promise();
  CHECK(did() == "PATCH volumecopies");
  const auto again = work();
  REQUIRE(again);
  CHECK(*again == nanoseconds(seconds(10)));
  CHECK(server.done() == "");
  CHECK(event_says("and no other node has room for it now"));
  know_node(kOtherNode);
  CHECK(did() == "POST volumecopies");
}

TEST_CASE_FIXTURE(Fixture, "nothing is made beside what may hold the claim's data") {
  SUBCASE("as the API server may have been put back") {
    put_back = true;
    roll.begin(kTerm);
    break_promise();
    CHECK(did() == "");
    CHECK(event_says("the API server may have been put back"));
    CHECK_FALSE(copy().given_up);
  }
  SUBCASE("as it was made once") {
    CopyStatus made = copy().status;
    made.made = true;
    answer(copy(), made);
    break_promise();
    CHECK_FALSE(concerns());
  }
  SUBCASE("as it was made, whatever annotation somebody set") {
    CopyStatus made = copy().status;
    made.made = true;
    made.state = CopyState::kReady;
    answer(copy(), made);
    put(copies, server.patch(copy_path(copy().name),
                             R"({"metadata":{"annotations":{"flexlocal.io/given-up":"true"}}})"));
    CHECK_FALSE(concerns());
    put(copies, server.patch(copy_path(copy().name), R"({"spec":{"desiredState":"Removed"}})"));
    CHECK_FALSE(concerns());
  }
  SUBCASE("as its PersistentVolume is gone, and with it who had it since") {
    break_promise();
    CHECK(did() == "PATCH volumecopies");
    const std::string there = server.text(kVolumePath);
    server.erase(kVolumePath);
    watch_volume();
    CHECK(did() == "");
    CHECK(event_says("the PersistentVolume is gone, and no copy of the volume is left"));
    server.put(kVolumePath, there);
  }
  SUBCASE("as another node has a copy of it") {
    break_promise();
    CHECK(did() == "PATCH volumecopies");
    CopyOrder other = sample_order(sample_spec());
    other.volume.copy = "fedcba9876543210";
    other.node = kOtherNode;
    other.origin = Origin::kExisting;
    other.desired = DesiredState::kRetained;
    know_copy(other);
    CHECK(did() == "");
    CHECK(event_says("is of the same volume and may hold data"));
  }
  CHECK(volume_there().node == kNode);
}

TEST_CASE_FIXTURE(Fixture, "only a controller of all nodes gives a volume another one") {
  break_promise();
  for (const Scope scope : {Scope::kOneNode, Scope::kAbsentNodes}) {
    view.scope = scope;
    CHECK_FALSE(concerns());
  }
}

}  // namespace flexlocal::provisioner::test
