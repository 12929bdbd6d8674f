#include "provisioner/controller/ends/orphaned_copy_worker.h"

#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kAsks = "LIST persistentvolumeclaims, GET persistentvolumes";

// A copy that was made, has neither claim nor PersistentVolume, and is to be removed. Its node has
// another PersistentVolume.
struct Fixture : OrderLab {
  Fixture() {
    orphan_options.policy = OrphanPolicy::kDelete;
    put(volumes, volume_text(sample_spec(kOtherUid), "Bound"));
    roll.begin(kTerm);
    pass(std::chrono::seconds(1));
    REQUIRE(roll.is_over());
  }
  void order_there() {
    know_copy(sample_order());
    answer(CopyState::kReady);
    server.journal.clear();
  }
  Orphan ordered() const { return {.order = *copy().order, .object = copy()}; }
  static Orphan told(bool retained = false) {
    CopyOrder order = sample_order();
    order.origin = Origin::kExisting;
    order.desired = DesiredState::kRetained;
    return {.order = order, .retained = retained};
  }
  std::string did(const Orphan& orphan) {
    orphans.begin_look(copy_name(orphan.order));
    const auto worked = wait_for(orphans.work(orphan));
    REQUIRE_MESSAGE(worked, worked.error().message());
    return server.done();
  }
  long said(const std::string& text) {
    const std::string& written = events_text();
    long count = 0;
    for (auto at = written.find(text); at != std::string::npos; at = written.find(text, at + 1))
      ++count;
    return count;
  }
  // Seen once, and then for as long as the grace.
  std::string did_after_grace(const Orphan& orphan) {
    CHECK(did(orphan) == "");
    manual.advance(orphan_options.grace);
    return did(orphan);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an orphan is removed after the grace, and its end is said, once each") {
  order_there();
  CHECK(did_after_grace(ordered()) == kAsks + ", PATCH volumecopies");
  CHECK(order().desired == DesiredState::kRemoved);
  manual.advance(kOrphanTold);
  orphans.report_removal(copy());
  CopyStatus held;
  held.state = CopyState::kRemoving;
  held.conditions = {{std::string(kAsOrdered), false, "InUse", "it is open"}};
  answer(copy(), held);
  orphans.report_removal(copy());
  orphans.report_removal(copy());
  answer(CopyState::kRemoved);
  orphans.report_removal(copy());
  orphans.report_removal(copy());
  CHECK(said("is not removed: its node has not answered") == 1);
  CHECK(said("is not removed: it is open") == 1);
  CHECK(said("had neither PersistentVolume nor claim and is removed") == 1);
}

TEST_CASE_FIXTURE(Fixture, "nothing is said any more of a removal that a person took back") {
  order_there();
  CHECK(did_after_grace(ordered()) == kAsks + ", PATCH volumecopies");
  const VolumeCopy known = copy();
  CopyOrder kept = *known.order;
  kept.desired = DesiredState::kRetained;
  put(copies, server.patch(copy_path(known.name), order_patch(known, kept)));
  answer(CopyState::kRetained, "a part of it is wiped");
  orphans.report_removal(copy());
  CHECK_FALSE(event_says("is not removed"));
}

TEST_CASE_FIXTURE(Fixture, "what only its node tells of is said, and never removed") {
  CHECK(did_after_grace(told()) == "GET persistentvolumes");
  manual.advance(orphan_options.grace);
  CHECK(did(told()) == "GET persistentvolumes");
  CHECK(copy_count() == 0);
  CHECK(event_says("has no VolumeCopy and no PersistentVolume; its data stays"));
}

TEST_CASE_FIXTURE(Fixture, "what is retained stays") {
  CopyOrder kept = sample_order();
  CopyState state = CopyState::kReady;
  SUBCASE("by its policy") { kept.reclaim_policy = "Retain"; }
  SUBCASE("by its node's word, while the order is to serve again") { state = CopyState::kRetained; }
  know_copy(kept);
  answer(state);
  server.journal.clear();
  CHECK(did_after_grace(ordered()) == "GET persistentvolumes");
  CHECK(order().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(Fixture,
                  "a claim or a PersistentVolume that only the API server knows keeps it") {
  order_there();
  std::string asks = kAsks;
  SUBCASE("a claim") {
    server.put(kClaimPath, claim_text(sample_claim()));
    asks = "LIST persistentvolumeclaims";
  }
  SUBCASE("a PersistentVolume") { server.put(kVolumePath, volume_text(sample_spec(), "Released")); }
  CHECK(did_after_grace(ordered()) == asks);
  CHECK(order().desired == DesiredState::kServing);
  // The time begins anew.
  server.erase(kClaimPath);
  server.erase(kVolumePath);
  manual.advance(orphan_options.grace - std::chrono::seconds(1));
  CHECK(did(ordered()) == "GET persistentvolumes");
  CHECK(order().desired == DesiredState::kServing);
  manual.advance(std::chrono::seconds(1));
  CHECK(did(ordered()) == kAsks + ", PATCH volumecopies");
}

TEST_CASE_FIXTURE(Fixture,
                  "a PersistentVolume that names another copy keeps it, and that is said") {
  order_there();
  engine::VolumeSpec other = sample_spec();
  other.copy = "fedcba9876543210";
  server.put(kVolumePath, volume_text(other, "Bound"));
  CHECK(did_after_grace(ordered()) == kAsks);
  CHECK(order().desired == DesiredState::kServing);
  CHECK(event_says("its PersistentVolume names another copy"));
  CHECK_FALSE(event_says("no claim"));
  CHECK(orphans.rests(copy().name));
}

TEST_CASE_FIXTURE(Fixture, "without an answer nothing is removed, and the time begins anew") {
  order_there();
  CHECK(did(ordered()) == "");
  manual.advance(orphan_options.grace);
  server.fails["LIST persistentvolumeclaims"] = {500};
  CHECK_FALSE(wait_for(orphans.work(ordered())));
  manual.advance(orphan_options.grace - std::chrono::seconds(1));
  server.journal.clear();
  CHECK(did(ordered()) == "GET persistentvolumes");
  CHECK(order().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(Fixture, "after a restore of etcd nothing is removed") {
  order_there();
  SUBCASE("in the same term") {
    put_back = true;
    roll.begin(kTerm);
    pass(std::chrono::seconds(60));
    REQUIRE(roll.is_over());
  }
  SUBCASE("in a later one") { orphan_options.saw_put_back = true; }
  CHECK(did_after_grace(ordered()) == "GET persistentvolumes");
  CHECK(order().desired == DesiredState::kServing);
  CHECK(event_says("may have been put back to an earlier state"));
}

TEST_CASE_FIXTURE(Fixture, "that it will be removed is said a minute after it became an orphan") {
  order_there();
  CHECK(did(ordered()) == "");
  manual.advance(kOrphanTold);
  CHECK(did(ordered()) == "GET persistentvolumes");
  CHECK(event_says("has no PersistentVolume and no claim; --orphan-policy=delete removes it"));
}

TEST_CASE_FIXTURE(Fixture, "the time of one that was none meanwhile begins anew") {
  order_there();
  CHECK(did(ordered()) == "");
  manual.advance(orphan_options.grace);
  SUBCASE("it was retained, or had its PersistentVolume") { orphans.forget(copy().name); }
  SUBCASE("it was not there") {
    orphans.forget_unless([](const std::string&) { return false; });
  }
  CHECK(did(ordered()) == "");
  CHECK(order().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(Fixture, "the grace begins when nothing else is in the way any more") {
  CHECK(did_after_grace(told()) == "GET persistentvolumes");
  manual.advance(orphan_options.grace);
  order_there();
  SUBCASE("its node alone told of it") { CHECK(did(told()) == "GET persistentvolumes"); }
  SUBCASE("a person had retained it") {
    answer(CopyState::kRetained);
    CHECK(did(ordered()) == "GET persistentvolumes");
    answer(CopyState::kReady);
  }
  CHECK(did(ordered()) == "GET persistentvolumes");
  manual.advance(orphan_options.grace - std::chrono::seconds(1));
  CHECK(did(ordered()) == "GET persistentvolumes");
  CHECK(order().desired == DesiredState::kServing);
  manual.advance(std::chrono::seconds(1));
  CHECK(did(ordered()) == kAsks + ", PATCH volumecopies");
}

TEST_CASE_FIXTURE(Fixture, "where a person is to act the API server is asked once an hour") {
  order_there();
  orphan_options.policy = OrphanPolicy::kReport;
  CHECK(did_after_grace(ordered()) == "GET persistentvolumes");
  const std::string name = copy().name;
  manual.advance(std::chrono::hours(1) - std::chrono::seconds(1));
  CHECK(orphans.rests(name));
  manual.advance(std::chrono::seconds(1));
  CHECK_FALSE(orphans.rests(name));
}

}  // namespace flexlocal::provisioner::test
