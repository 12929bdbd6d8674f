// Copies that nobody seems to need: their nodes know whether a pod has had them.
#include "provisioner/controller/ends/copy_collector.h"
#include "test/unit/controller/ends/collector_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : CollectorLab {
  // It was promised, or made, and its claim and PersistentVolume are gone.
  void withdraw(CopyState state = CopyState::kPromised) {
    answer(state);
    REQUIRE(did() == kLooks + ", PATCH volumecopies");
    REQUIRE(order_now().desired == DesiredState::kWithdrawn);
  }
  void say_made() {
    put(copies, server.patch(copy_path(copy().name), R"({"status":{"made":true}})"));
  }
  // By kubectl.
  void person(const std::string& state) {
    const std::string generation = std::to_string(copy().generation + 1);
    put(copies, server.patch(copy_path(copy().name), R"({"metadata":{"generation":)" + generation +
                                                         R"(},"spec":{"desiredState":")" + state +
                                                         R"("}})"));
    server.journal.clear();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "what was promised or made is withdrawn, whoever ordered it") {
  SUBCASE("promised") { withdraw(); }
  SUBCASE("made") { withdraw(CopyState::kReady); }
  SUBCASE("by an earlier leader") {
    desk.begin_term(kTerm + 1);
    roll.begin(kTerm + 1);
    pass(std::chrono::seconds(60));
    REQUIRE(roll.is_over());
    withdraw(CopyState::kReady);
  }
  CHECK(did() == "");
  answer(CopyState::kRemoving);
  CHECK(did() == "");
  answer(CopyState::kRemoved);
  CHECK(did() == "");
  manual.advance(kRemovedStays);
  CHECK(did() == "DELETE volumecopies");
}

TEST_CASE_FIXTURE(Fixture, "what a pod has had is an orphan, and stays as its node keeps it") {
  withdraw(CopyState::kReady);
  answer(CopyState::kRetained);
  CHECK(did() == "");
  manual.advance(kOrphanTold);
  CHECK(did() == "GET persistentvolumes");
  CHECK(event_says("has no PersistentVolume and no claim; its data stays"));
  CHECK(order_now().desired == DesiredState::kWithdrawn);
}

TEST_CASE_FIXTURE(Fixture, "by the policy of orphans it is removed, when nobody has it any more") {
  orphan_options.policy = OrphanPolicy::kDelete;
  withdraw(CopyState::kReady);
  answer(CopyState::kRetained);
  const auto wait_out = [&] {
    for (int minutes = 0; minutes < 300; minutes += 20) {
      REQUIRE(work());
      manual.advance(std::chrono::minutes(20));
    }
  };
  SUBCASE("nobody has") {
    wait_out();
    CHECK(order_now().desired == DesiredState::kRemoved);
  }
  SUBCASE("a person retains it") {
    person("Retained");
    answer(CopyState::kRetained);
    wait_out();
    CHECK(order_now().desired == DesiredState::kRetained);
  }
  SUBCASE("its claim lives") {
    server.put("/api/v1/namespaces/shop/persistentvolumeclaims", claim_text(sample_claim()));
    know_claim(sample_claim());
    wait_out();
    CHECK(order_now().desired == DesiredState::kWithdrawn);
  }
  SUBCASE("its policy retains it") {
    put(copies, server.patch(copy_path(copy().name), R"({"spec":{"reclaimPolicy":"Retain"}})"));
    wait_out();
    CHECK(order_now().desired == DesiredState::kWithdrawn);
  }
  SUBCASE("it has its PersistentVolume again, which decides") {
    know_volume("Bound");
    wait_out();
    CHECK(order_now().desired == DesiredState::kWithdrawn);
    REQUIRE(wait_for(ends.work(volume)));
    CHECK(order_now().desired == DesiredState::kServing);
  }
}

TEST_CASE_FIXTURE(Fixture, "what its node said of an earlier order says nothing of a withdrawal") {
  answer(CopyState::kRetained);
  say_made();
  CHECK(did() == kLooks + ", PATCH volumecopies");
  for (int hour = 0; hour < 4; ++hour) {
    REQUIRE(work());
    manual.advance(std::chrono::hours(1));
  }
  CHECK_FALSE(event_says("has no PersistentVolume and no claim"));
}

TEST_CASE_FIXTURE(Fixture, "what was found, or nobody can answer for, is a person's at once") {
  SUBCASE("found") {
    server.erase(copy_path(copy().name));
    CopyOrder found = sample_order();
    found.origin = Origin::kExisting;
    know_copy(found);
  }
  SUBCASE("its node is gone") {
    put(copies, server.patch(copy_path(copy().name),
                             R"({"metadata":{"labels":{"flexlocal.io/node":"gone"}},)"
                             R"("spec":{"nodeName":"gone"}})"));
  }
  answer(CopyState::kReady);
  say_made();
  CHECK(did() == kLooks);
  CHECK(order_now().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(Fixture, "where the API server was put back nothing of before is withdrawn") {
  answer(CopyState::kPromised);
  desk.begin_term(kTerm + 1);
  put_back = true;
  roll.begin(kTerm + 1);
  SUBCASE("before the roll was called") {}
  SUBCASE("after it") {
    pass(std::chrono::seconds(60));
    REQUIRE(roll.is_over());
  }
  REQUIRE(work());
  CHECK(order_now().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(Fixture,
                  "of a node that goes, or cannot, before it has answered, a person is told") {
  withdraw(CopyState::kReady);
  std::string why;
  SUBCASE("it is gone") {
    say_made();
    put(copies, server.patch(copy_path(copy().name),
                             R"({"metadata":{"labels":{"flexlocal.io/node":"gone"}},)"
                             R"("spec":{"nodeName":"gone"}})"));
  }
  SUBCASE("it cannot") { answer(CopyState::kReady, "the volume group is read-only"); }
  for (int hour = 0; hour < 4; ++hour) {
    REQUIRE(work());
    manual.advance(std::chrono::hours(1));
  }
  CHECK(event_says("has no PersistentVolume and no claim"));
}

TEST_CASE_FIXTURE(Fixture,
                  "where each node gives its own orders, what a volume names serves at once") {
  withdraw();
  view.scope = Scope::kOneNode;
  know_volume("Bound");
  REQUIRE(wait_for(ends.work(volume)));
  CHECK(order_now().desired == DesiredState::kServing);
}

TEST_CASE_FIXTURE(Fixture, "a withdrawal is answered before its late PersistentVolume is decided") {
  withdraw();
  know_volume("Bound");
  REQUIRE(wait_for(ends.work(volume)));
  CHECK(server.done() == "");
  CHECK(event_says("it serves if a pod has had it"));
  say_made();
  answer(CopyState::kRetained);
  REQUIRE(wait_for(ends.work(volume)));
  CHECK(order_now().desired == DesiredState::kServing);
}

}  // namespace flexlocal::provisioner::test
