#include "provisioner/controller/claims/growth_plan.h"

#include <doctest/doctest.h>

#include "flexvolume/base/text.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

const Bytes kExtent(4 * kMiB.count());

Volume bound_volume(Bytes size = kGiB) {
  return decoded_volume(volume_text(sample_spec(kUid, size), "Bound"));
}

GrowthPlan plan(const Claim& claim, const Volume& volume) {
  return plan_growth(claim, &volume, kNode, kCluster);
}

bool left_alone(const Claim& claim, const Volume& volume) {
  return std::holds_alternative<LeaveAlone>(plan(claim, volume));
}

Growth growth_of(const Claim& claim, const Volume& volume) {
  const GrowthPlan planned = plan(claim, volume);
  REQUIRE(std::holds_alternative<Growth>(planned));
  return std::get<Growth>(planned);
}

Settle settle_of(const Claim& claim, const Volume& volume) {
  const GrowthPlan planned = plan(claim, volume);
  REQUIRE(std::holds_alternative<Settle>(planned));
  return std::get<Settle>(planned);
}

}  // namespace

TEST_CASE("a bound claim that asks for more than its volume has makes it grow") {
  const Growth growth = growth_of(bound_claim("2Gi"), bound_volume());
  CHECK(growth.asked == kGiB + kGiB);
  CHECK(growth.spec.name.text() == "pvc-" + kUid);
}

TEST_CASE("a claim that asks for as much as it has, or for less, is left alone") {
  for (const char* requested : {"1Gi", "1000Mi", "1", "0", "", "much"})
    CHECK(left_alone(bound_claim(requested), bound_volume()));
}

TEST_CASE("what somebody else has raised is asked for until the claim's status says it, too") {
  const Volume grown = bound_volume(kGiB + kGiB);
  CHECK(growth_of(bound_claim("2Gi", "1Gi"), grown).asked == kGiB + kGiB);
  CHECK(left_alone(bound_claim("2Gi", "2Gi"), grown));
  Claim pending = bound_claim("3Gi", "1Gi");
  pending.file_system_pending = true;
  CHECK(growth_of(pending, grown).asked == Bytes(3 * kGiB.count()));
}

// It had raised it for a request that was lowered since, or wrote it after all was done.
TEST_CASE(
    "a capacity that says other than the status of a claim that has what it asks is settled") {
  for (const Bytes offered : {kGiB + kGiB, kGiB - kExtent}) {
    const Settle settle = settle_of(bound_claim("1Gi", "1Gi"), bound_volume(offered));
    CHECK(settle.size == kGiB);
    CHECK(settle.capacity_differs);
    CHECK_FALSE(settle.status_differs);
  }
}

TEST_CASE("what is left of a growth in the status of a claim that has what it asks is settled") {
  const auto status_differs = [](auto change) {
    Claim claim = bound_claim("1Gi", "1Gi");
    change(claim);
    const GrowthPlan planned = plan(claim, bound_volume());
    const auto* settle = std::get_if<Settle>(&planned);
    return settle != nullptr && settle->status_differs && !settle->capacity_differs;
  };
  CHECK(status_differs([](Claim& claim) { claim.resize_status = "NodeResizePending"; }));
  CHECK(status_differs([](Claim& claim) { claim.resize_error = "no room"; }));
  CHECK(status_differs([](Claim& claim) { claim.file_system_pending = true; }));
  CHECK(status_differs([](Claim& claim) { claim.allocated = "2Gi"; }));
  CHECK_FALSE(status_differs([](Claim& claim) { claim.allocated = "1Gi"; }));
  CHECK_FALSE(status_differs([](Claim& claim) { claim.allocated = "1023Mi"; }));
}

TEST_CASE("a claim whose status is not written yet is not taken for half-grown") {
  CHECK(left_alone(bound_claim("1Gi", ""), bound_volume()));
  CHECK(left_alone(bound_claim("2Gi", ""), bound_volume()));
}

TEST_CASE("only a bound pair of ours on this node grows") {
  const Claim claim = bound_claim("2Gi");
  CHECK(std::holds_alternative<LeaveAlone>(plan_growth(claim, nullptr, kNode, kCluster)));
  const auto with_volume = [&](auto change) {
    Volume volume = bound_volume();
    change(volume);
    return left_alone(claim, volume);
  };
  CHECK_FALSE(with_volume([](Volume&) {}));
  CHECK(with_volume([](Volume& volume) { volume.node = "node-b"; }));
  CHECK(with_volume([](Volume& volume) { volume.claim_uid = kOtherUid; }));
  CHECK(with_volume([](Volume& volume) { volume.driver = "other.io/other"; }));
  CHECK(with_volume([](Volume& volume) { volume.provisioned_by = "other.io"; }));
  CHECK(with_volume([](Volume& volume) { volume.phase = "Released"; }));
  CHECK(with_volume([](Volume& volume) { volume.phase = "Failed"; }));
  CHECK(with_volume([](Volume& volume) { volume.deleting = true; }));
  CHECK(with_volume([](Volume& volume) { volume.migrated = true; }));
  CHECK(with_volume([](Volume& volume) { volume.name = "pvc-" + kOtherUid; }));
  const auto with_claim = [&](auto change) {
    Claim changed = claim;
    change(changed);
    return left_alone(changed, bound_volume());
  };
  const Volume settled = bound_volume(kGiB + kGiB);
  CHECK(std::holds_alternative<LeaveAlone>(
      plan_growth(bound_claim("1Gi"), &settled, kNode, kOtherUid)));
  CHECK(with_claim([](Claim& changed) { changed.phase = "Pending"; }));
  CHECK(with_claim([](Claim& changed) { changed.phase = "Lost"; }));
  CHECK(with_claim([](Claim& changed) { changed.deleting = true; }));
  CHECK(with_claim([](Claim& changed) { changed.volume_name.clear(); }));
}

TEST_CASE("a volume whose order is not to be used, or another cluster's, is refused in words") {
  const Claim claim = bound_claim("2Gi");
  Volume odd = bound_volume();
  odd.order = order_of_annotation({});
  const GrowthPlan refused = plan(claim, odd);
  REQUIRE(std::holds_alternative<Refuse>(refused));
  CHECK(std::get<Refuse>(refused).why.find("cannot grow: PersistentVolume pvc-") !=
        std::string::npos);
  CHECK(std::get<Refuse>(refused).why.find("put back what it said") != std::string::npos);
  const Volume volume = bound_volume();
  const GrowthPlan elsewhere = plan_growth(claim, &volume, kNode, kOtherUid);
  REQUIRE(std::holds_alternative<Refuse>(elsewhere));
  CHECK(std::get<Refuse>(elsewhere).why ==
        "the volume was made for another cluster and does not grow");
}

}  // namespace flexlocal::provisioner::test
