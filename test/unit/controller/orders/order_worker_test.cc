#include "provisioner/controller/orders/order_worker.h"

#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

const std::string kTakeBack = "PATCH persistentvolumeclaims";

struct Fixture : OrderLab {
  Fixture() { know_claim(sample_claim()); }
  Result<std::optional<nanoseconds>> work() { return wait_for(orders.work("shop/data")); }
  // A pass that must succeed, and what was asked of the API server by it.
  std::string did() {
    const auto worked = work();
    REQUIRE_MESSAGE(worked, worked.error().message());
    return server.done();
  }
  Error failure() {
    const auto worked = work();
    REQUIRE_FALSE(worked);
    return worked.error();
  }
  bool is_handed_back() { return claim_there().selected_node.empty(); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a late-bound claim costs one order and one PersistentVolume") {
  CHECK(did() == "POST volumecopies");
  CHECK(did() == "");
  answer(CopyState::kPromised);
  CHECK(did() == "POST persistentvolumes");
  CHECK(did() == "");
  CHECK(volume_there().claim_uid == kUid);
  CHECK(volume_there().copy == order().volume.copy);
  CHECK(volume_there().node == kNode);
  CHECK(event_says("volume pvc-" + kUid + " of 1 GiB"));
  CHECK(counts(R"(controller_persistentvolumeclaim_provision_total{class="local",source=""} 1)"));
}

TEST_CASE_FIXTURE(Fixture,
                  "an order says all that the copy is to be, for whom, and of which term") {
  CHECK(did() == "POST volumecopies");
  const CopyOrder given = order();
  CHECK(given.origin == Origin::kNew);
  CHECK(given.desired == DesiredState::kServing);
  CHECK(given.term == kTerm);
  CHECK(given.node == kNode);
  CHECK(given.node_uid == kUidOfNode);
  CHECK(given.hostname == "host-of-node-a");
  CHECK(given.claim_name == "data");
  CHECK(given.claim_uid == kUid);
  CHECK(given.storage_class == "local");
  CHECK(given.reclaim_policy == "Delete");
  CHECK(given.volume.size == kGiB);
  CHECK(given.volume.cluster_id == kCluster);
  CHECK(given.volume.claim_namespace == "shop");
  CHECK(engine::is_copy_id(given.volume.copy));
}

TEST_CASE_FIXTURE(Fixture, "a PersistentVolume has the size that the node promised, as ordered") {
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kReady);
  CHECK(did() == "POST persistentvolumes");
  CHECK(volume_there().capacity == "1Gi");
  CHECK(volume_there().order->volume == order().volume);
}

TEST_CASE_FIXTURE(Fixture, "a volume is ordered, and offered, in whole units of its node's disks") {
  unit = Bytes(3 * kMiB.count());
  pass(seconds(1));
  CHECK(did() == "POST volumecopies");
  CHECK(order().volume.size == kGiB + kMiB + kMiB);
  answer(CopyState::kReady);
  CHECK(did() == "POST persistentvolumes");
  CHECK(volume_there().capacity == "1026Mi");
}

TEST_CASE_FIXTURE(Fixture, "a node has ten seconds, then its order is withdrawn in words") {
  const auto given = work();
  REQUIRE(given);
  CHECK(*given == nanoseconds(kOrderTimeout));
  pass(seconds(9));
  const auto waited = work();
  REQUIRE(waited);
  CHECK(*waited == nanoseconds(seconds(1)));
  server.journal.clear();
  pass(seconds(1));
  CHECK(did() == "PATCH volumecopies, " + kTakeBack);
  CHECK(order().desired == DesiredState::kWithdrawn);
  CHECK(is_handed_back());
  CHECK(event_says("the node daemon of node node-a has not answered for 10 s; another node"));
}

TEST_CASE_FIXTURE(Fixture,
                  "an order that its node neither takes nor refuses is withdrawn as well") {
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kUnsaid, "the order is for another Node of this name");
  CHECK(did() == "");
  pass(kOrderTimeout);
  CHECK(did() == "PATCH volumecopies, " + kTakeBack);
  CHECK(event_says("has not taken the volume for 10 s: the order is for another Node"));
}

TEST_CASE_FIXTURE(Fixture, "a refusal ends the order, and the claim goes back with its words") {
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kRefused, "the pool is full");
  CHECK(did() == "PATCH volumecopies, " + kTakeBack);
  CHECK(order().desired == DesiredState::kWithdrawn);
  CHECK(is_handed_back());
  CHECK(event_says("node node-a cannot have the volume: the pool is full; another node"));
  CHECK(counts(
      R"(controller_persistentvolumeclaim_provision_failed_total{class="local",source=""} 1)"));
}

TEST_CASE_FIXTURE(Fixture, "a claim is handed back once it is marked as ours, and not before") {
  Claim claim = sample_claim();
  claim.marked = false;
  know_claim(claim);
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kRefused, "the pool is full");
  CHECK(did() == "PATCH volumecopies");
  CHECK(did() == "");
  CHECK_FALSE(is_handed_back());
  claim.marked = true;
  know_claim(claim);
  CHECK(did() == kTakeBack);
  CHECK(is_handed_back());
}

TEST_CASE_FIXTURE(Fixture,
                  "a node gets no new order of anybody before it has ended a withdrawn one") {
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kRefused, "the pool is full");
  CHECK(did() == "PATCH volumecopies, " + kTakeBack);
  Claim other = sample_claim();
  other.name = "other";
  other.uid = kOtherUid;
  know_claim(other);
  REQUIRE(wait_for(orders.work("shop/other")));
  CHECK(server.done() == kTakeBack);
  answer(CopyState::kRemoved);
  know_claim(other);
  REQUIRE(wait_for(orders.work("shop/other")));
  CHECK(server.done() == "POST volumecopies");
}

TEST_CASE_FIXTURE(Fixture,
                  "when the scheduler chooses another node the order is withdrawn, silently") {
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kUnsaid);
  know_node(kOtherNode);
  Claim moved = sample_claim();
  moved.selected_node = kOtherNode;
  know_claim(moved);
  CHECK(did() == "PATCH volumecopies");
  CHECK(did() == "POST volumecopies");
  CHECK(copy_count() == 2);
  CHECK(claim_there().selected_node == kOtherNode);
  CHECK(events_text().empty());
}

TEST_CASE_FIXTURE(Fixture, "a claim that is deleted meanwhile gets no PersistentVolume") {
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kPromised);
  put(claims,
      server.patch(kClaimPath, R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})"));
  CHECK(did() == "");
  CHECK_FALSE(has_volume());
}

TEST_CASE_FIXTURE(Fixture,
                  "where the API server drops a part of an order that may be, nothing is ordered") {
  server.unknown_field = "limits";
  const Error error = failure();
  CHECK(error.code() == ErrorCode::kInvalid);
  CHECK(error.message().find("the API server did not keep spec.limits") != std::string::npos);
  CHECK(event_says("the API server did not keep spec.limits"));
  CHECK(server.done() == "");
  CHECK(failure().message() == error.message());
  CHECK(copy_count() == 0);
  server.unknown_field.clear();
  CHECK(did() == "POST volumecopies");
  CHECK(order().volume.limits == engine::IoLimits());
}

TEST_CASE_FIXTURE(Fixture, "what the API server keeps of an order is tried once a term") {
  CHECK(did() == "POST volumecopies");
  CHECK(server.trials == 1);
  answer(CopyState::kRefused, "it is full");
  CHECK(did() == "PATCH volumecopies, PATCH persistentvolumeclaims");
  know_node(kOtherNode);
  put(claims, server.patch(kClaimPath,
                           R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":")" +
                               kOtherNode + R"("}}})"));
  CHECK(did() == "POST volumecopies");
  CHECK(server.trials == 1);
}

TEST_CASE_FIXTURE(Fixture, "where orders cannot come to all that they may, none is given") {
  server.unknown_state = "Withdrawn";
  CHECK(failure().code() == ErrorCode::kInvalid);
  CHECK(event_says("definition of VolumeCopy is older than this version"));
  CHECK(copy_count() == 0);
  server.unknown_state.clear();
  CHECK(did() == "POST volumecopies");
  CHECK(order().desired == DesiredState::kServing);
}

// As a webhook of Kubernetes 1.20 may have it; the order itself is compared all the same.
TEST_CASE_FIXTURE(Fixture, "where no dry run is possible the order is given without") {
  server.refuses_trials = true;
  CHECK(did() == "POST volumecopies");
  CHECK(server.trials == 1);
}

// Its definition becomes an older one between the trial and the order.
TEST_CASE_FIXTURE(Fixture, "a copy whose order the API server has cut is withdrawn, not served") {
  put(classes, merged(class_text(), R"({"parameters":{"readIOPS":"100"}})"));
  server.unknown_after_trial = "limits";
  CHECK(failure().message().find("did not keep spec.limits") != std::string::npos);
  CHECK(server.done() == "POST volumecopies");
  answer(CopyState::kPromised);
  server.unknown_field.clear();
  CHECK(did() == "GET persistentvolumes, PATCH volumecopies, PATCH persistentvolumeclaims");
  CHECK(order().desired == DesiredState::kWithdrawn);
  CHECK_FALSE(has_volume());
  CHECK(event_says("did not keep spec.limits"));
}

TEST_CASE_FIXTURE(Fixture, "an order that has changed meanwhile is not withdrawn over that") {
  CHECK(did() == "POST volumecopies");
  // The node's promise, which the watch has not brought yet.
  const VolumeCopy known = copy();
  CopyStatus promised = known.status;
  promised.state = CopyState::kPromised;
  promised.observed_generation = 1;
  const std::string late = server.patch(copy_path(known.name), status_patch(known, promised));
  pass(kOrderTimeout);
  CHECK(failure().code() == ErrorCode::kConflict);
  CHECK(order().desired == DesiredState::kServing);
  CHECK_FALSE(is_handed_back());
  server.journal.clear();
  put(copies, late);
  CHECK(did() == "POST persistentvolumes");
}

TEST_CASE_FIXTURE(Fixture, "a PersistentVolume whose making was not answered is taken for ours") {
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kPromised);
  server.loses_answer_of = "POST persistentvolumes";
  CHECK_FALSE(work());
  server.journal.clear();
  CHECK(did() == "POST persistentvolumes, GET persistentvolumes");
  CHECK(volumes.get(volume) != nullptr);
  CHECK(did() == "");
}

TEST_CASE_FIXTURE(Fixture, "a PersistentVolume of another copy is not taken for ours") {
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kPromised);
  server.put(kVolumePath, volume_text(sample_spec(), "Available"));
  const Error error = failure();
  CHECK(error.code() == ErrorCode::kExists);
  CHECK(volumes.get(volume) == nullptr);
  CHECK(volume_there().copy == kCopy);
  CHECK(event_says("exists already and is not of this claim's copy on node node-a"));
}

TEST_CASE_FIXTURE(Fixture, "an order whose making was not answered is not given twice") {
  server.loses_answer_of = "POST volumecopies";
  CHECK_FALSE(work());
  put(copies, server.text(server.paths(copies_path()).front()));
  server.journal.clear();
  CHECK(did() == "");
  CHECK(copy_count() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a lost copy is told, and nothing is done about it") {
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kLost, "no record and no disk knows it");
  pass(seconds(100));
  CHECK(did() == "");
  CHECK(event_says("node node-a promised the volume and does not have it: no record and no disk"));
}

TEST_CASE_FIXTURE(Fixture, "what is ordered and not counted by the node yet is not given again") {
  know_node(kNode, Bytes(kGiB.count() * 3 / 2));
  CHECK(did() == "POST volumecopies");
  Claim other = sample_claim();
  other.name = "other";
  other.uid = kOtherUid;
  know_claim(other);
  REQUIRE(wait_for(orders.work("shop/other")));
  CHECK(server.done() == kTakeBack);
  CHECK(event_says(
      R"(no room on node node-a: pool \"default\" has 512 MiB free for backend lvm, 1 GiB asked)"));
}

TEST_CASE_FIXTURE(Fixture, "nothing is ordered where somebody has made a volume for the claim") {
  Claim claim = sample_claim();
  claim.marked = false;
  know_claim(claim);
  // As kubectl makes retained data a PersistentVolume again: for this claim, by its name.
  const std::string name = "pvc-" + kOtherUid;
  put(volumes, merged(volume_text(sample_spec(kOtherUid), "Available"),
                      R"({"spec":{"claimRef":{"uid":null}}})"));
  REQUIRE(volumes.get(name) != nullptr);
  CHECK(did() == "");
  // Once it is marked, whoever looks for volumes has found that this one does not do.
  know_claim(sample_claim());
  CHECK(did() == "POST volumecopies");
}

TEST_CASE_FIXTURE(Fixture,
                  "a claim whose node gives its orders itself, or follows none, is handed back") {
  std::string words;
  SUBCASE("itself") {
    put(beats,
        merged(beat_of(kNode, 100, kTenGiB),
               R"({"metadata":{"annotations":{"flexlocal.io/provisioning":"distributed"}}})"));
    words = "gives its node's orders itself (--provisioning=distributed)";
  }
  SUBCASE("none") {
    put(beats, lease_text(1, kTenGiB));
    words = "carries out no orders: it is of an earlier version";
  }
  CHECK(did() == kTakeBack);
  CHECK(event_says(words));
}

TEST_CASE_FIXTURE(Fixture,
                  "a claim that no scheduler finds a node for is told why, if its class is ours") {
  Claim claim = sample_claim();
  claim.selected_node.clear();
  claim.marked = false;
  know_node(kNode, Bytes(0));
  for (const char* storage_class : {"theirs", "local"}) {
    claim.storage_class = storage_class;
    know_claim(claim);
    CHECK(did() == "");
    pass(seconds(20));
    CHECK(did() == "");
  }
  const std::string& told = events_text();
  CHECK(std::count(told.begin(), told.end(), '\n') == 1);
  CHECK(event_says("0 of 1 nodes have 1Gi"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a claim that no node can serve is refused in words, when it is marked") {
  Claim claim = sample_claim();
  claim.access_modes = {"ReadWriteMany"};
  claim.marked = false;
  know_claim(claim);
  CHECK(did() == "");
  claim.marked = true;
  know_claim(claim);
  CHECK(failure().code() == ErrorCode::kInvalid);
  CHECK(copy_count() == 0);
  CHECK(event_says("access mode ReadWriteMany is not possible"));
}

TEST_CASE_FIXTURE(Fixture, "a daemon that is not there is waited for, not passed over at once") {
  manual.advance(kHeartbeatDuration + seconds(1));
  node_cache.confirm_silence(kNode);
  server.put(kLeasePath, beat_of(kNode, 1, kTenGiB));
  const auto worked = work();
  REQUIRE(worked);
  CHECK(copy_count() == 0);
}

}  // namespace flexlocal::provisioner::test
