#include "provisioner/controller/orders/growth_orderer.h"

#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr Bytes kTwo = kGiB + kGiB;
const std::string kStatusPatch = "PATCH persistentvolumeclaims/status";

// A bound volume, whose claim asks for 2 GiB, of which there is no VolumeCopy.
struct WithoutCopy : OrderLab {
  WithoutCopy() {
    know_volume("Bound");
    know_claim(bound_claim("2Gi"));
  }
};

// A bound volume of 1 GiB, whose claim asks for 2 GiB.
struct Fixture : OrderLab {
  std::optional<std::chrono::nanoseconds> waits;  // after which the last pass wants another one

  Fixture() {
    know_copy(sample_order());
    answer_size(kGiB);
    know_volume("Bound");
    know_claim(bound_claim("2Gi"));
  }
  void answer_size(Bytes size, std::vector<CopyCondition> conditions = {}) {
    const VolumeCopy known = copy();
    CopyStatus status = known.status;
    status.state = CopyState::kReady;
    status.size = size;
    status.conditions = std::move(conditions);
    answer(known, status);
  }
  static CopyCondition not_grown() {
    return {std::string(kAsOrdered), false, std::string(kNotGrown), "the pool is full", {}};
  }
  static CopyCondition at_mount() {
    return {std::string(kFileSystemResizePending), true, "NotMounted", "at the next mount", {}};
  }
  Status work() {
    auto again = wait_for(growths.work("shop/data"));
    waits = again ? *again : std::nullopt;
    return again ? Status() : again.error();
  }
  std::string did() {
    const Status worked = work();
    REQUIRE_MESSAGE(worked, worked.error().message());
    return server.done();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "a growth is one order, then the volume's capacity, last the claim's status") {
  CHECK(did() == "PATCH volumecopies");
  CHECK(order().volume.size == kTwo);
  CHECK(order().term == kTerm);
  CHECK(did() == "");
  CHECK(volume_there().capacity == "1Gi");
  answer_size(kTwo);
  CHECK(did() == "PATCH persistentvolumes, " + kStatusPatch);
  CHECK(volume_there().capacity == "2Gi");
  CHECK(claim_there().capacity == "2Gi");
  CHECK(did() == "");
  CHECK(event_says("and its file system have 2 GiB on node node-a"));
  CHECK(counts(R"(flexlocal_volume_grow_total{class="local"} 1)"));
}

TEST_CASE_FIXTURE(Fixture, "a growth that was left half done is completed from where it is") {
  CHECK(did() == "PATCH volumecopies");
  answer_size(kTwo);
  server.fails[kStatusPatch] = {403};
  CHECK_FALSE(work());
  server.journal.clear();
  CHECK(did() == kStatusPatch);
  CHECK(claim_there().capacity == "2Gi");
}

TEST_CASE_FIXTURE(Fixture, "a file system that grows at the next mount is said to wait, once") {
  CHECK(did() == "PATCH volumecopies");
  answer_size(kTwo, {at_mount()});
  CHECK(did() == "PATCH persistentvolumes, " + kStatusPatch);
  CHECK(claim_there().file_system_pending);
  CHECK_FALSE(counts(R"(flexlocal_volume_grow_total{class="local"} 1)"));
  CHECK(claim_there().capacity == "1Gi");
  CHECK(did() == "");
  answer_size(kTwo);
  CHECK(did() == kStatusPatch);
  CHECK_FALSE(claim_there().file_system_pending);
  CHECK(claim_there().capacity == "2Gi");
}

TEST_CASE_FIXTURE(Fixture, "a refused growth is told in the node's words, and its order stays") {
  CHECK(did() == "PATCH volumecopies");
  answer_size(kGiB, {not_grown()});
  // By the expand controller, which asks nobody.
  change_volume(R"({"spec":{"capacity":{"storage":"2Gi"}}})");
  CHECK(did() == "PATCH persistentvolumes");
  CHECK(volume_there().capacity == "1Gi");
  CHECK(order().volume.size == kTwo);
  CHECK(event_says(
      "does not grow from 1 GiB to 2 GiB on node node-a: the pool is full; it keeps what it has"));
  CHECK(counts(R"(flexlocal_volume_grow_failed_total{class="local"} 1)"));
}

TEST_CASE_FIXTURE(Fixture, "a refused growth is done once there is room") {
  CHECK(did() == "PATCH volumecopies");
  answer_size(kGiB, {not_grown()});
  CHECK(did() == "");
  answer_size(kTwo);
  CHECK(did() == "PATCH persistentvolumes, " + kStatusPatch);
  CHECK(claim_there().capacity == "2Gi");
}

TEST_CASE_FIXTURE(Fixture,
                  "a refused growth is said in the claim's status where that has fields for it") {
  Claim claim = bound_claim("2Gi");
  claim.allocated = "2Gi";
  claim.resize_status = "NodeResizePending";
  know_claim(claim);
  CHECK(did() == "PATCH volumecopies");
  answer_size(kGiB, {not_grown()});
  CHECK(did() == kStatusPatch);
  CHECK(claim_there().resize_status == "ControllerResizeInfeasible");
  CHECK(claim_there().allocated == "1Gi");
  CHECK(did() == "");
}

TEST_CASE_FIXTURE(Fixture,
                  "a node that does not answer is waited for, and then the claim is told") {
  CHECK(did() == "PATCH volumecopies");
  pass(std::chrono::seconds(1));
  CHECK(did() == "");
  CHECK(waits == kOrderTimeout - std::chrono::seconds(1));
  pass(std::chrono::duration_cast<std::chrono::seconds>(kOrderTimeout));
  CHECK(did() == "");
  CHECK(waits == std::chrono::minutes(1));
  CHECK(event_says("does not grow yet: the node daemon of node node-a has not answered yet"));
}

TEST_CASE_FIXTURE(Fixture, "a claim is told what keeps its node from growing the volume, once") {
  CHECK(did() == "PATCH volumecopies");
  answer_size(kGiB, {{std::string(kAsOrdered), false, "Unseen", "no such disk", {}}});
  CHECK(did() == "");
  CHECK(did() == "");
  CHECK_FALSE(waits);
  CHECK(event_says("does not grow yet: no such disk"));
  CHECK_FALSE(event_says(R"("count":2)"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a size that a node rounds up is ordered and told so, and quota is not") {
  unit = Bytes(3 * kMiB.count());
  pass(std::chrono::seconds(1));
  Claim claim = bound_claim("2Gi");
  claim.allocated = "2Gi";
  know_claim(claim);
  CHECK(did() == "PATCH volumecopies");
  const Bytes rounded = Bytes(2049 * kMiB.count());
  CHECK(order().volume.size == rounded);
  answer_size(rounded);
  CHECK(did() == "PATCH persistentvolumes, " + kStatusPatch);
  CHECK(volume_there().capacity == "2049Mi");
  CHECK(claim_there().capacity == "2049Mi");
  CHECK(claim_there().allocated == "2Gi");
}

TEST_CASE_FIXTURE(WithoutCopy, "a claim whose volume has no VolumeCopy is told so") {
  REQUIRE(wait_for(growths.work("shop/data")));
  CHECK(server.done() == "");
  CHECK(event_says("volume " + volume + " does not grow yet: VolumeCopy " + volume + '-' + kCopy +
                   " is missing"));
}

TEST_CASE_FIXTURE(Fixture, "a claim whose volume has no order that can be raised is told so") {
  SUBCASE("it is not understood") {
    put(copies, server.patch(copy_path(copy().name), R"({"spec":{"desiredState":"Levitating"}})"));
    CHECK(did() == "");
    CHECK(event_says("the order in VolumeCopy " + copy().name + " is not understood"));
  }
  SUBCASE("it is to be retained") {
    put(copies, server.patch(copy_path(copy().name), R"({"spec":{"desiredState":"Retained"}})"));
    CHECK(did() == "");
    CHECK(event_says("spec.desiredState of VolumeCopy " + copy().name + " is not Serving"));
  }
}

TEST_CASE_FIXTURE(Fixture, "what the disks have beyond the request is charged for") {
  Claim claim = bound_claim("2Gi");
  claim.allocated = "3Gi";
  know_claim(claim);
  CHECK(did() == "PATCH volumecopies");
  answer_size(kTwo + kGiB);
  CHECK(did() == "PATCH persistentvolumes, " + kStatusPatch);
  CHECK(claim_there().allocated == "3Gi");
}

TEST_CASE_FIXTURE(Fixture, "an order that has changed meanwhile is not raised over that") {
  server.patch(copy_path(copy().name), R"({"status":{"mounted":true}})");
  CHECK(work().error().code() == ErrorCode::kConflict);
  CHECK(order().volume.size == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "a growth that has been ordered is not ordered again by a later pass") {
  CHECK(did() == "PATCH volumecopies");
  manual.advance(std::chrono::hours(1));
  CHECK(did() == "");
}

TEST_CASE_FIXTURE(
    Fixture, "a claim that asks for what it has, or is not bound to the volume, costs nothing") {
  know_claim(bound_claim("1Gi"));
  CHECK(did() == "");
  Claim other = bound_claim("2Gi");
  other.uid = kOtherUid;
  other.volume_name = volume;
  know_claim(other);
  CHECK(did() == "");
}

TEST_CASE_FIXTURE(Fixture, "the volume of another cluster does not grow, and that is said") {
  desk.set_cluster_id(kOtherUid);
  CHECK(work().error().code() == ErrorCode::kInvalid);
  CHECK(server.done() == "");
  CHECK(event_says("made for another cluster"));
}

}  // namespace flexlocal::provisioner::test
