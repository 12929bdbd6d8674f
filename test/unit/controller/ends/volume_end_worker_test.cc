#include "provisioner/controller/ends/volume_end_worker.h"

#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kReleased = R"({"status":{"phase":"Released"}})";
const std::string kRetain = R"({"spec":{"persistentVolumeReclaimPolicy":"Retain"}})";
const std::string kDeleted = R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})";

// A bound volume.
struct Fixture : OrderLab {
  Fixture() { know_volume("Bound"); }
  void know_ready_copy() {
    know_copy(sample_order());
    answer(CopyState::kReady);
  }
  Status work() { return wait_for(ends.work(volume)); }
  bool rests() const { return ends.rests(volume_there()); }
  // What rests needs no pass: nothing is asked or written for it.
  std::string did() {
    const auto known = volumes.get(volume);
    const bool rested = known != nullptr && ends.rests(*known);
    const Status worked = work();
    REQUIRE_MESSAGE(worked, worked.error().message());
    std::string done = server.done();
    if (rested) CHECK(done == "");
    return done;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a volume that lives, with its copy, is asked nothing about") {
  know_ready_copy();
  CHECK(rests());
  CHECK(did() == "");
  CHECK(events_text().empty());
}

TEST_CASE_FIXTURE(Fixture, "a volume rests while nothing is to be done or said about it") {
  CHECK_FALSE(rests());  // its copy has no object
  know_ready_copy();
  CHECK(rests());
  answer(CopyState::kLost, "the disk is gone");
  CHECK_FALSE(rests());
  answer(CopyState::kReady);
  CHECK(rests());
  SUBCASE("one whose claim is gone does not") {
    change_volume(kReleased);
    CHECK_FALSE(rests());
  }
  SUBCASE("one that a person deletes does not: they are told that it stays") {
    change_volume(kDeleted);
    CHECK_FALSE(rests());
  }
  SUBCASE("one that is retained does again when its node has said so") {
    change_volume(kRetain);
    CHECK_FALSE(rests());  // the order says another policy
    change_volume(kReleased);
    did();
    CHECK_FALSE(rests());
    answer(CopyState::kRetained);
    CHECK(rests());
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a released volume goes in order: the object, its data, then our finalizer") {
  know_ready_copy();
  change_volume(kReleased);
  CHECK(did() == "DELETE persistentvolumes");
  CHECK(volume_there().deleting);
  CHECK(did() == "GET persistentvolumes, PATCH volumecopies");
  CHECK(order().desired == DesiredState::kRemoved);
  CHECK(order().term == kTerm);
  CHECK(did() == "");
  answer(CopyState::kRemoving);
  CHECK(did() == "");
  CHECK_FALSE(counts(R"(controller_persistentvolume_delete_total{class="local"} 1)"));
  answer(CopyState::kRemoved);
  CHECK(did() == "PATCH persistentvolumes");
  CHECK_FALSE(has_volume());
  CHECK(counts(R"(controller_persistentvolume_delete_total{class="local"} 1)"));
}

TEST_CASE_FIXTURE(Fixture, "a volume that was bound again meanwhile is not deleted") {
  know_ready_copy();
  change_volume(kReleased);
  server.patch(kVolumePath, R"({"status":{"phase":"Bound"}})");
  CHECK(work().error().code() == ErrorCode::kConflict);
  CHECK(server.done() == "DELETE persistentvolumes");
  CHECK_FALSE(volume_there().deleting);
  CHECK(order().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(Fixture,
                  "a volume that was made anew under its name is not deleted in its place") {
  know_ready_copy();
  change_volume(kReleased);
  server.put(kVolumePath, with(server.text(kVolumePath), "uid-of-pv", "uid-of-another"));
  CHECK(work().error().code() == ErrorCode::kConflict);
  CHECK_FALSE(volume_there().deleting);
}

TEST_CASE_FIXTURE(Fixture, "a copy that changed meanwhile is not ordered away over that") {
  know_ready_copy();
  change_volume(kReleased);
  CHECK(did() == "DELETE persistentvolumes");
  server.patch(copy_path(copy().name), R"({"status":{"mounted":true}})");
  CHECK(work().error().code() == ErrorCode::kConflict);
  CHECK(order().desired == DesiredState::kServing);
}

// A person made it anew while the leader stood still: its watch comes through what was before.
TEST_CASE_FIXTURE(Fixture,
                  "the data of a volume that was made anew is not ordered away by what was") {
  know_ready_copy();
  change_volume(kReleased);
  CHECK(did() == "DELETE persistentvolumes");
  SUBCASE("it is another one now") {
    server.put(kVolumePath,
               with(volume_text(sample_spec(), "Bound"), "uid-of-pv", "uid-of-another"));
  }
  SUBCASE("it is retained now") { server.patch(kVolumePath, kRetain); }
  SUBCASE("the API server does not say") {
    server.fails["GET persistentvolumes"] = {403};
    CHECK_FALSE(work());
    CHECK(order().desired == DesiredState::kServing);
    return;
  }
  CHECK(did() == "GET persistentvolumes");
  CHECK(order().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(Fixture, "why data does not go is told on the volume") {
  know_ready_copy();
  change_volume(kReleased);
  CHECK(did() == "DELETE persistentvolumes");
  CHECK(did() == "GET persistentvolumes, PATCH volumecopies");
  answer(CopyState::kReady, "somebody has the device open");
  CHECK(did() == "");
  CHECK(event_says("somebody has the device open"));
  CHECK(counts(R"(controller_persistentvolume_delete_failed_total{class="local"} 1)"));
  CHECK(has_volume());
}

TEST_CASE_FIXTURE(Fixture, "why a node does not answer is told on the volume, when it is late") {
  know_ready_copy();
  change_volume(kReleased);
  CHECK(did() == "DELETE persistentvolumes");
  CHECK(did() == "GET persistentvolumes, PATCH volumecopies");
  pass(std::chrono::duration_cast<std::chrono::seconds>(kOrderTimeout) - std::chrono::seconds(1));
  CHECK(did() == "");
  SUBCASE("its daemon runs") {
    pass(std::chrono::seconds(1));
    CHECK(did() == "");
    CHECK(event_says("the node daemon of node node-a has not answered yet"));
  }
  SUBCASE("its daemon is silent") {
    manual.advance(kHeartbeatDuration + std::chrono::seconds(1));
    node_cache.confirm_silence(kNode);
    CHECK(did() == "");
    CHECK(event_says("the node daemon of node node-a gives no sign of life"));
  }
}

TEST_CASE_FIXTURE(Fixture, "each thing that is said of an end is said once") {
  know_ready_copy();
  change_volume(kReleased);
  CHECK(did() == "DELETE persistentvolumes");
  CHECK(did() == "GET persistentvolumes, PATCH volumecopies");
  CopyStatus status;
  status.state = CopyState::kRemoving;
  status.size = kGiB;
  status.wiped = kMiB;
  status.conditions = {{std::string(kAsOrdered), false, "NotRemoved", "the disk is on fire"}};
  answer(copy(), status);
  for (int looks = 0; looks < 3; ++looks) CHECK(did() == "");
  const std::string& written = events_text();
  const auto once = [&](const std::string& text) {
    const auto first = written.find(text);
    return first != std::string::npos && written.find(text, first + 1) == std::string::npos;
  };
  CHECK(once("wiping: 1 MiB of 1 GiB"));
  CHECK(once("the disk is on fire"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a retained volume is mounted by nobody, and kept when a person deletes it") {
  know_ready_copy();
  change_volume(kRetain);
  change_volume(kReleased);
  CHECK(did() == "PATCH volumecopies");
  CHECK(order().desired == DesiredState::kRetained);
  CHECK(did() == "");
  change_volume(kDeleted);
  CHECK(did() == "");
  answer(CopyState::kRetained);
  CHECK(did() == "PATCH persistentvolumes");
  CHECK_FALSE(has_volume());
  CHECK(copy_count() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a lost order is given again for data that is there, and makes none") {
  CHECK(did() == "POST volumecopies");
  CHECK(order().origin == Origin::kExisting);
  CHECK(order().desired == DesiredState::kServing);
  CHECK(order().volume == sample_spec());
  CHECK(order().term == kTerm);
  CHECK(copy().name == copy_name(sample_order()));
  CHECK(did() == "");
}

TEST_CASE_FIXTURE(Fixture, "a removal whose order was lost is ordered again, and waited for") {
  change_volume(kReleased);
  CHECK(did() == "DELETE persistentvolumes");
  CHECK(did() == "GET persistentvolumes, POST volumecopies");
  CHECK(order().origin == Origin::kExisting);
  CHECK(order().desired == DesiredState::kRemoved);
  CHECK(did() == "");
  CHECK(has_volume());
  answer(CopyState::kRemoved);
  CHECK(did() == "PATCH persistentvolumes");
}

TEST_CASE_FIXTURE(Fixture, "an order that does not fit its PersistentVolume is not given again") {
  change_volume(R"({"spec":{"flexVolume":{"options":{"flexlocal.io/copy":"fedcba9876543210"}}}})");
  CHECK(work().error().code() == ErrorCode::kInvalid);
  change_volume(R"({"metadata":{"annotations":{"flexlocal.io/order":"{}"}}})");
  CHECK(work().error().code() == ErrorCode::kInvalid);
  desk.set_cluster_id(kOtherUid);
  know_volume("Bound");
  CHECK(work().error().code() == ErrorCode::kDenied);
  CHECK(copy_count() == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "a copy that is not understood is neither written over nor ordered beside") {
  know_ready_copy();
  put(copies, server.patch(copy_path(copy().name), R"({"spec":{"desiredState":"Sealed"}})"));
  CHECK(did() == "");
  change_volume(kReleased);
  CHECK(did() == "DELETE persistentvolumes");
  CHECK(did() == "");
  CHECK(has_volume());
  CHECK(event_says("is left as it is, for its order: spec.desiredState is"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a bound volume that a person deletes keeps its data, and that is said") {
  know_ready_copy();
  change_volume(kDeleted);
  CHECK(did() == "");
  CHECK(order().desired == DesiredState::kServing);
  CHECK(event_says("the claim is still bound to this volume; its data stays"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a copy that was withdrawn and has a PersistentVolume is to serve again") {
  know_ready_copy();
  CopyOrder withdrawn = sample_order();
  withdrawn.desired = DesiredState::kRemoved;
  REQUIRE(wait_for(desk.change(copy(), withdrawn)));
  server.journal.clear();
  CHECK(did() == "PATCH volumecopies");
  CHECK(order().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(Fixture, "a volume of another driver is left alone") {
  change_volume(R"({"spec":{"flexVolume":{"driver":"other.io/other"}}})");
  change_volume(kReleased);
  CHECK(did() == "");
}

}  // namespace flexlocal::provisioner::test
