// Copies of which their nodes have only said that they are promised, and that nobody seems to need.
#include "provisioner/controller/copy_collector.h"
#include "test/unit/controller/collector_lab.h"

namespace flexlocal::provisioner::test {

TEST_CASE_FIXTURE(CollectorLab, "its node is asked whether what it promised was ever made") {
  answer(CopyState::kPromised);
  CHECK(did() == kLooks + ", PATCH volumecopies");
  CHECK(order_now().desired == DesiredState::kRetained);
  CHECK(copy().in_question);
  CHECK(did() == "");
  answer(CopyState::kPromised);  // it was read, and is not noted yet
  CHECK(did() == "");
  SUBCASE("it was not") {
    answer(CopyState::kRetained);
    CHECK(did() == kLooks + ", PATCH volumecopies");
    CHECK(order_now().desired == DesiredState::kRemoved);
    CHECK_FALSE(copy().in_question);
  }
  SUBCASE("it was") {
    orphan_options.policy = OrphanPolicy::kDelete;
    put(copies, server.patch(copy_path(copy().name), R"({"status":{"made":true}})"));
    answer(CopyState::kRetained);
    CHECK(did() == kLooks + ", PATCH volumecopies");
    CHECK(order_now().desired == DesiredState::kServing);
    CHECK_FALSE(copy().in_question);
    answer(CopyState::kReady);
    CHECK(did() == kLooks);  // an orphan, by its policy
  }
  SUBCASE("a PersistentVolume was made for it again meanwhile") {
    answer(CopyState::kRetained);
    server.put(kVolumePath, volume_text(sample_spec(), "Available"));
    CHECK(did() == kLooks + ", PATCH volumecopies");
    CHECK(order_now().desired == DesiredState::kServing);
  }
  SUBCASE("without an answer of the API server it stays in question") {
    answer(CopyState::kRetained);
    server.fails["GET persistentvolumes"] = {403};
    CHECK_FALSE(work());
    CHECK(copy().in_question);
  }
}

TEST_CASE_FIXTURE(CollectorLab,
                  "what its node said before it was asked is no answer, and what it says then is") {
  for (const CopyState state : {CopyState::kRetained, CopyState::kRefused, CopyState::kLost}) {
    CAPTURE(static_cast<int>(state));
    put(copies, server.patch(copy_path(copy().name), R"({"status":{"promised":true}})"));
    answer(state);
    CHECK(did() == kLooks + ", PATCH volumecopies");
    REQUIRE(copy().in_question);
    CHECK(did() == "");
    answer(state);
    CHECK(did() == kLooks + ", PATCH volumecopies");
    CHECK(order_now().desired == DesiredState::kRemoved);
    order(DesiredState::kServing);
  }
}

TEST_CASE_FIXTURE(CollectorLab, "what has its PersistentVolume again is for that to decide about") {
  answer(CopyState::kPromised);
  did();
  REQUIRE(copy().in_question);
  answer(CopyState::kRetained);
  know_volume("Bound");
  CHECK(did() == "");
}

TEST_CASE_FIXTURE(CollectorLab, "what is retained and in no question is left alone") {
  answer(CopyState::kPromised);
  order(DesiredState::kRetained);
  answer(CopyState::kRetained);
  CHECK(did() == "");
  CHECK(order_now().desired == DesiredState::kRetained);
}

TEST_CASE_FIXTURE(CollectorLab, "what was answered before a put-back settles no question") {
  answer(CopyState::kPromised);
  did();
  REQUIRE(copy().in_question);
  answer(CopyState::kRetained);
  desk.begin_term(kTerm + 1);
  put_back = true;
  roll.begin(kTerm + 1);
  SUBCASE("before the roll was called") {
    did();
    CHECK(order_now().desired != DesiredState::kRemoved);
  }
  SUBCASE("after it") {
    pass(std::chrono::seconds(60));
    REQUIRE(roll.is_over());
    did();
    CHECK(order_now().desired != DesiredState::kRemoved);
  }
}

TEST_CASE_FIXTURE(CollectorLab, "what a PersistentVolume's policy retains is in no question") {
  orphan_options.policy = OrphanPolicy::kDelete;
  answer(CopyState::kPromised);
  did();
  REQUIRE(copy().in_question);
  know_volume("Released");
  change_volume(R"({"spec":{"persistentVolumeReclaimPolicy":"Retain"}})");
  REQUIRE(wait_for(ends.work(volume)));
  put(copies, server.patch(copy_path(copy().name), R"({"status":{"made":true}})"));
  answer(CopyState::kRetained);
  REQUIRE(wait_for(ends.work(volume)));
  change_volume(R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  REQUIRE(wait_for(ends.work(volume)));  // lets it go: "its data and mark stay"
  REQUIRE_FALSE(has_volume());
  // The watch brings that it is gone.
  const std::string nobodys = R"({"metadata":{"annotations":null}})";
  put(volumes, server.put(kVolumePath, merged(volume_text(sample_spec(), ""), nobodys)));
  server.erase(kVolumePath);
  for (int hour = 0; hour < 4; ++hour) {
    REQUIRE(work());
    if (order_now().desired == DesiredState::kServing) answer(CopyState::kReady);
    manual.advance(std::chrono::hours(1));
  }
  CHECK(order_now().desired == DesiredState::kRetained);
}

TEST_CASE_FIXTURE(CollectorLab, "what a person retains after a question is retained") {
  answer(CopyState::kPromised);
  did();
  REQUIRE(copy().in_question);
  put(copies, server.patch(copy_path(copy().name), R"({"status":{"made":true}})"));
  const auto person = [&](const std::string& state) {
    const std::string generation = std::to_string(copy().generation + 1);
    put(copies, server.patch(copy_path(copy().name), R"({"metadata":{"generation":)" + generation +
                                                         R"(},"spec":{"desiredState":")" + state +
                                                         R"("}})"));
    server.journal.clear();
  };
  SUBCASE("who used it meanwhile") { person("Serving"); }
  SUBCASE("who takes a removal back") { person("Removed"); }
  person("Retained");
  answer(CopyState::kRetained);
  did();
  CHECK(order_now().desired == DesiredState::kRetained);
}

TEST_CASE_FIXTURE(CollectorLab, "what was found on its node is never in question") {
  server.erase(copy_path(copy().name));
  CopyOrder found = sample_order();
  found.origin = Origin::kExisting;
  found.claim_name.clear();
  found.desired = DesiredState::kRetained;
  know_copy(found);
  put(copies, server.patch(copy_path(copy().name),
                           R"({"metadata":{"annotations":{"flexlocal.io/in-question":"true"}}})"));
  answer(CopyState::kRetained);
  REQUIRE(copy().order);
  did();
  REQUIRE(copy().order);
  CHECK(order_now().desired == DesiredState::kRetained);
}

TEST_CASE_FIXTURE(CollectorLab, "of what was made and cannot be retained a person is told") {
  answer(CopyState::kPromised);
  did();
  REQUIRE(copy().in_question);
  put(copies, server.patch(copy_path(copy().name), R"({"status":{"made":true}})"));
  for (int hour = 0; hour < 4; ++hour) {
    answer(CopyState::kReady, "the volume group is read-only");
    REQUIRE(work());
    manual.advance(std::chrono::hours(1));
  }
  CHECK(event_says("has no PersistentVolume and no claim"));
}

}  // namespace flexlocal::provisioner::test
