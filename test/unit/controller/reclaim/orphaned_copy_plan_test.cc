#include "provisioner/controller/reclaim/orphaned_copy_plan.h"

#include <doctest/doctest.h>

namespace flexlocal::provisioner::test {
namespace {

using Action = OrphanedCopyAction;
constexpr std::chrono::hours kGrace{1};
constexpr std::chrono::nanoseconds kInstant{1};

// Everything that allows it to be removed.
struct Fixture {
  OrphanedCopy copy;
  OrphanPolicy policy = OrphanPolicy::kDelete;

  Fixture() { copy.age = copy.removable_for = kGrace; }
  OrphanedCopyPlan plan(std::chrono::nanoseconds grace = kGrace) const {
    return plan_orphaned_copy(copy, policy, grace);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an orphan is removed after the grace, where the policy says so") {
  CHECK(plan().action == Action::kRemove);
  copy.removable_for = kGrace - kInstant;
  CHECK(plan().action == Action::kAnnounce);
  copy.age = kOrphanTold - kInstant;
  CHECK(plan().action == Action::kWait);
  copy.age = std::chrono::nanoseconds(0);
  CHECK(plan(kInstant).action == Action::kWait);
}

TEST_CASE_FIXTURE(Fixture, "one thing that is in the way keeps it, and is said after a minute") {
  const char* why = "";
  SUBCASE("the policy") {
    policy = OrphanPolicy::kReport;
    why = "orphans are removed by --orphan-policy=delete";
  }
  SUBCASE("the policy Retain") {
    copy.retained = true;
    why = "it is retained, by its reclaim policy or a person";
  }
  SUBCASE("a node that nobody orders from") {
    copy.is_ordered = false;
    why = "it may be of an API server that was put back to an earlier state";
  }
  SUBCASE("a node that is gone") {
    copy.node_is_gone = true;
    why = "its node was deleted";
  }
  SUBCASE("a restore of etcd") {
    copy.in_doubt = true;
    why = "the API server may have been put back to an earlier state";
  }
  CHECK(is_removable(copy) == (policy == OrphanPolicy::kReport));
  CHECK(plan().action == Action::kReport);
  CHECK(plan().why.find(why) != std::string::npos);
  copy.age = kOrphanTold;
  CHECK(plan().action == Action::kReport);
  copy.age = kOrphanTold - kInstant;
  CHECK(plan().action == Action::kWait);
  // A shorter grace holds for what is said, too.
  CHECK(plan(kOrphanTold / 2).action == Action::kReport);
}

TEST_CASE_FIXTURE(Fixture, "a claim that lives keeps its data, whatever else holds") {
  copy.claim_lives = true;
  CHECK(plan().action == Action::kReportToClaim);
  copy.age = std::chrono::nanoseconds(0);
  policy = OrphanPolicy::kReport;
  CHECK(plan().action == Action::kReportToClaim);
}

}  // namespace flexlocal::provisioner::test
