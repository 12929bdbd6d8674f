#include "provisioner/controller/reclaim/lost_volume_plan.h"

#include <doctest/doctest.h>

#include "provisioner/controller/reclaim/gone_nodes.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

using Plan = LostVolumePlan;
using Policy = NodeDeletePolicy;
using Verdict = GoneNodes::Verdict;
using std::chrono::minutes;

const Clock::Instant kStart{std::chrono::hours(1)};

Volume lost(const std::string& phase, bool deleting = false) {
  Volume volume = decoded_volume(volume_text(sample_spec(), phase));
  volume.deleting = deleting;
  return volume;
}

}  // namespace

TEST_CASE("by default nothing is touched, whatever the volume's state") {
  for (const char* phase : {"Bound", "Released", "Failed", "Available", "Pending"})
    for (const bool deleting : {false, true})
      CHECK(plan_lost_volume(lost(phase, deleting), Policy::kReport) == Plan::kReport);
}

TEST_CASE("a volume whose claim lives is never touched") {
  for (const auto policy : {Policy::kReport, Policy::kOrphan, Policy::kDelete})
    for (const bool deleting : {false, true})
      CHECK(plan_lost_volume(lost("Bound", deleting), policy) == Plan::kReport);
}

TEST_CASE("orphan lets go of what somebody deletes, and of nothing else") {
  CHECK(plan_lost_volume(lost("Released", true), Policy::kOrphan) == Plan::kRelease);
  CHECK(plan_lost_volume(lost("Released"), Policy::kOrphan) == Plan::kReport);
}

TEST_CASE("delete goes as far as the reclaim policy of the class") {
  CHECK(plan_lost_volume(lost("Released"), Policy::kDelete) == Plan::kDelete);
  CHECK(plan_lost_volume(lost("Failed"), Policy::kDelete) == Plan::kDelete);
  CHECK(plan_lost_volume(lost("Available"), Policy::kDelete) == Plan::kReport);
  CHECK(plan_lost_volume(lost("Released", true), Policy::kDelete) == Plan::kRelease);
  Volume kept = lost("Released");
  kept.reclaim_policy = "Retain";
  CHECK(plan_lost_volume(kept, Policy::kDelete) == Plan::kReport);
}

TEST_CASE("what is not ours, or held by others only, is left alone") {
  Volume volume = lost("Released");
  volume.driver = "example.com/other";
  CHECK(plan_lost_volume(volume, Policy::kDelete) == Plan::kNothing);
  volume = lost("Released", true);
  volume.finalizers = {"kubernetes.io/pv-protection"};
  CHECK(plan_lost_volume(volume, Policy::kDelete) == Plan::kNothing);
}

TEST_CASE("the advice names the node, the volume and the command for its state") {
  const std::string bound = advice_on(lost("Bound"));
  CHECK(bound.find("node node-a was deleted") == 0);
  CHECK(bound.find("delete the claim and its pods") != std::string::npos);
  CHECK(advice_on(lost("Released")).find("kubectl delete pv pvc-" + kUid) != std::string::npos);
  CHECK(advice_on(lost("Released", true)).find("kubectl delete pv") == std::string::npos);
}

TEST_CASE("a node is gone when the API server said so twice, with the grace between") {
  GoneNodes gone(minutes(10));
  CHECK(gone.verdict("n", kStart) == Verdict::kAsk);
  gone.answered_absent("n", kStart);
  CHECK(gone.verdict("n", kStart + minutes(9)) == Verdict::kWait);
  gone.answered_absent("n", kStart + minutes(9));
  CHECK(gone.verdict("n", kStart + minutes(10)) == Verdict::kAsk);
  gone.answered_absent("n", kStart + minutes(10));
  CHECK(gone.verdict("n", kStart + minutes(10)) == Verdict::kGone);
}

TEST_CASE("a node that is there in between was never gone") {
  GoneNodes gone(minutes(10));
  gone.answered_absent("n", kStart);
  gone.answered_there("n");
  CHECK(gone.verdict("n", kStart + minutes(20)) == Verdict::kAsk);
  gone.answered_absent("n", kStart + minutes(20));
  CHECK(gone.verdict("n", kStart + minutes(21)) == Verdict::kWait);
}

}  // namespace flexlocal::provisioner::test
