#include "provisioner/controller/ends/copy_collector.h"

#include "test/unit/controller/ends/collector_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::nanoseconds;

}  // namespace

TEST_CASE_FIXTURE(CollectorLab,
                  "an order whose claim is gone is withdrawn, by the API server's own word") {
  CHECK(did() == kLooks + ", PATCH volumecopies");
  CHECK(order_now().desired == DesiredState::kWithdrawn);
  CHECK(order_now().term == kTerm);
}

TEST_CASE_FIXTURE(CollectorLab,
                  "an order is kept whose claim is there, in the store or only on the server") {
  server.put(kClaimPath, claim_text(sample_claim()));
  CHECK(did() == "GET persistentvolumeclaims");
  know_claim(sample_claim());
  CHECK(did() == "");
  CHECK(order_now().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(CollectorLab,
                  "only a controller of one node asks for the PersistentVolume of a claim") {
  know_claim(sample_claim());
  for (const Scope all : {Scope::kAllNodes, Scope::kAbsentNodes}) {
    view.scope = all;
    CHECK(did() == "");
  }
  view.scope = Scope::kOneNode;
  CHECK(did() == "GET persistentvolumes");
  CHECK(order_now().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(CollectorLab,
                  "another claim of the same name needs no order of its predecessor's") {
  Claim other = sample_claim();
  other.uid = kOtherUid;
  know_claim(other);
  CHECK(did() == kLooks + ", PATCH volumecopies");
}

TEST_CASE_FIXTURE(CollectorLab,
                  "an order is kept whose PersistentVolume the watch has not brought yet") {
  server.put(kVolumePath, volume_text(sample_spec(), "Available"));
  CHECK(did() == kLooks);
  CHECK(order_now().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(CollectorLab, "without an answer nothing is withdrawn") {
  server.fails["GET persistentvolumeclaims"] = {403};
  CHECK_FALSE(work());
  server.fails["GET persistentvolumes"] = {403};
  CHECK_FALSE(work());
  CHECK(order_now().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(CollectorLab, "an order that changes while it is looked at is not withdrawn") {
  const VolumeCopy known = copy();
  answer(CopyState::kReady);
  const auto worked = wait_for(collector.work(known));
  REQUIRE_FALSE(worked);
  CHECK(worked.error().code() == ErrorCode::kConflict);
  CHECK(order_now().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(CollectorLab,
                  "a copy rests that is kept, or has a PersistentVolume that names it") {
  CHECK_FALSE(collector.rests(copy()));
  know_volume("Bound");
  CHECK(collector.rests(copy()));
  order(DesiredState::kRetained);
  CHECK(collector.rests(copy()));
  answer(CopyState::kRemoved);  // after a removal that was taken back too late
  CHECK(collector.rests(copy()));
  // The volume is another driver's from now on.
  change_volume(R"({"metadata":{"annotations":{"pv.kubernetes.io/provisioned-by":null}}})");
  CHECK_FALSE(collector.rests(copy()));
  order(DesiredState::kRemoved);
  CHECK_FALSE(collector.rests(copy()));
}

TEST_CASE_FIXTURE(CollectorLab,
                  "a claim whose PersistentVolume is gone is told where its data is") {
  answer(CopyState::kReady);
  Claim lost = sample_claim();
  lost.volume_name = volume;
  know_claim(lost);
  orphan_options.policy = OrphanPolicy::kDelete;
  CHECK(did() == "GET persistentvolumes, GET persistentvolumes");
  manual.advance(std::chrono::hours(2));
  CHECK(did() == "GET persistentvolumes, GET persistentvolumes");
  CHECK(order_now().desired == DesiredState::kServing);
  CHECK(event_says("was deleted while this claim exists"));
}

TEST_CASE_FIXTURE(CollectorLab,
                  "an orphan that was ordered for data that is there is not removed either") {
  // Its node has not said anything of it yet.
  server.erase(copy_path(copy().name));
  CopyOrder existing = sample_order(sample_spec(kOtherUid));
  existing.origin = Origin::kExisting;
  know_copy(existing);
  CHECK(did() == kLooks);
  CHECK(order_now().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(CollectorLab, "a removed copy's object is buried after 45 s, and not before") {
  answer(CopyState::kPromised);
  order(DesiredState::kRemoved);
  answer(CopyState::kRemoved);
  const auto first = work();
  REQUIRE(first);
  CHECK(*first == nanoseconds(kRemovedStays));
  manual.advance(kRemovedStays - nanoseconds(1));
  const auto second = work();
  REQUIRE(second);
  CHECK(*second == nanoseconds(1));
  CHECK(server.done() == "");
  manual.advance(nanoseconds(1));
  CHECK(did() == "DELETE volumecopies");
  CHECK(copy_count() == 0);
}

TEST_CASE_FIXTURE(CollectorLab, "the time begins anew where a copy is not removed any more") {
  order(DesiredState::kRemoved);
  answer(CopyState::kRemoved);
  CHECK(did() == "");
  manual.advance(kRemovedStays);
  answer(CopyState::kRemoving);
  CHECK(did() == "");
  answer(CopyState::kRemoved);
  CHECK(did() == "");
  CHECK(copy_count() == 1);
}

TEST_CASE_FIXTURE(CollectorLab, "an object that was written to meanwhile is not buried") {
  order(DesiredState::kRemoved);
  answer(CopyState::kRemoved);
  CHECK(did() == "");
  const VolumeCopy known = copy();
  manual.advance(kRemovedStays);
  server.patch(copy_path(known.name), R"({"metadata":{"labels":{"a":"b"}}})");
  const auto worked = wait_for(collector.work(known));
  REQUIRE_FALSE(worked);
  CHECK(worked.error().code() == ErrorCode::kConflict);
  CHECK(copy_count() == 1);
}

TEST_CASE_FIXTURE(CollectorLab,
                  "an object stays for as long as its node has not answered this very order") {
  order(DesiredState::kRemoved);
  CopyStatus earlier;
  earlier.state = CopyState::kRemoved;
  JsonWriter json;
  write_status(json, earlier);
  put(copies, server.patch(copy_path(copy().name), concat(R"({"status":)", json.take(), "}")));
  CHECK(did() == "");
  manual.advance(kRemovedStays);
  CHECK(did() == "");
  CHECK(copy_count() == 1);
}

TEST_CASE_FIXTURE(CollectorLab, "of a node that is gone only what was never promised is buried") {
  const std::string gone = R"({"metadata":{"labels":{"flexlocal.io/node":"gone"}},)"
                           R"("spec":{"nodeName":"gone","desiredState":"Removed"}})";
  put(copies, server.patch(copy_path(copy().name), gone));
  CHECK(did() == "");
  manual.advance(kRemovedStays);
  put(copies, server.patch(copy_path(copy().name), R"({"status":{"promised":true}})"));
  CHECK(did() == "");
  CHECK(copy_count() == 1);
  put(copies, server.patch(copy_path(copy().name), R"({"status":{"promised":false}})"));
  CHECK(did() == "");
  manual.advance(kRemovedStays);
  CHECK(did() == "DELETE volumecopies");
}

TEST_CASE_FIXTURE(CollectorLab, "the object of a node that is gone for good goes by the policy") {
  const std::string gone = R"({"metadata":{"labels":{"flexlocal.io/node":"gone"}},)"
                           R"("spec":{"nodeName":"gone"},"status":{"made":true}})";
  orphan_options.node_delete_policy = NodeDeletePolicy::kOrphan;
  std::string patch = "{}";
  bool goes = false;
  SUBCASE("nobody needs it") { goes = true; }
  SUBCASE("it is being removed") {
    patch = R"({"spec":{"desiredState":"Removed"}})";
    goes = true;
  }
  SUBCASE("it was withdrawn") {
    patch = R"({"spec":{"desiredState":"Withdrawn"},"status":{"promised":true,"made":false}})";
    goes = true;
  }
  SUBCASE("a person retained it") { patch = R"({"spec":{"desiredState":"Retained"}})"; }
  SUBCASE("its policy retains it") { patch = R"({"spec":{"reclaimPolicy":"Retain"}})"; }
  SUBCASE("its claim lives") { know_claim(sample_claim()); }
  SUBCASE("it has its PersistentVolume") { put(volumes, volume_text(sample_spec(), "Released")); }
  SUBCASE("the policy is another") {
    orphan_options.node_delete_policy = NodeDeletePolicy::kReport;
  }
  server.patch(copy_path(copy().name), gone);
  put(copies, server.patch(copy_path(copy().name), patch));
  CHECK(work().ok());
  manual.advance(kNodeGrace);
  CHECK(work().ok());
  CHECK(copy_count() == (goes ? 0 : 1));
}

TEST_CASE_FIXTURE(CollectorLab,
                  "nobody is asked again and again of the copy of a node that is gone") {
  put(copies, server.patch(copy_path(copy().name),
                           R"({"metadata":{"labels":{"flexlocal.io/node":"gone"}},)"
                           R"("spec":{"nodeName":"gone"},"status":{"made":true}})"));
  CHECK(did() == kLooks);
  manual.advance(kOrphanTold);
  CHECK(did() == kLooks + ", GET persistentvolumes");
  manual.advance(std::chrono::minutes(59));
  CHECK(did() == "");
  CHECK(event_says("its node was deleted"));
}

TEST_CASE_FIXTURE(CollectorLab,
                  "what is retained, not understood or without a claim's name is a person's") {
  order(DesiredState::kRetained);
  CHECK(did() == "");
  put(copies, server.patch(copy_path(copy().name), R"({"spec":{"desiredState":"Sealed"}})"));
  CHECK(did() == "");
}

}  // namespace flexlocal::provisioner::test
