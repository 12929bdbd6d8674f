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

Growth growth_to(Bytes asked) { return {sample_spec(), kGiB, kGiB, asked}; }

PoolRoom room_with(Bytes free, Bytes held) {
  PoolRoom room;
  room.unit = kExtent;
  room.free = free;
  room.held = held;
  return room;
}

std::string words(const Result<Bytes>& fitted) {
  REQUIRE_FALSE(fitted.ok());
  CHECK(fitted.error().code() == ErrorCode::kNoSpace);
  return fitted.error().message();
}

engine::Inventory inventory_with(bool open) {
  engine::LogicalVolume volume;
  volume.name = "pvc-" + kUid;
  volume.open = open;
  engine::Inventory inventory;
  inventory.volumes = {volume};
  return inventory;
}

}  // namespace

TEST_CASE("a bound claim that asks for more than its volume has makes it grow") {
  const Growth growth = growth_of(bound_claim("2Gi"), bound_volume());
  CHECK(growth.granted == kGiB);
  CHECK(growth.capacity == kGiB);
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
  CHECK(growth_of(pending, grown).capacity == kGiB + kGiB);
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

TEST_CASE("what is granted is the first size, or what an annotation of ours says since") {
  Volume volume = bound_volume();
  volume.capacity = "9Gi";
  for (const char* nothing : {"", "1Mi", "-2Gi", "much"}) {
    volume.granted = nothing;
    CHECK(growth_of(bound_claim("9Gi"), volume).granted == kGiB);
  }
  volume.granted = "2Gi";
  CHECK(growth_of(bound_claim("9Gi"), volume).granted == kGiB + kGiB);
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

TEST_CASE("a volume grows into what is free, to the last extent, in whole extents") {
  const auto fit = [](Bytes asked, Bytes free) {
    return fit_growth(growth_to(asked), kNode, room_with(free, kGiB));
  };
  CHECK(*fit(kGiB + kGiB, kGiB) == kGiB + kGiB);
  CHECK(*fit(kGiB + Bytes(1), kExtent) == kGiB + kExtent);
  CHECK(words(fit(kGiB + kGiB, kGiB - kExtent)) ==
        "no room to grow volume pvc-" + kUid +
            " from 1 GiB to 2 GiB on node node-a: pool \"default\" has 1020 MiB free for backend "
            "lvm, 1 GiB more asked; the volume stays as it is, and grows once there is room");
  words(fit(kMostBytes, kMostBytes));
}

TEST_CASE("what an earlier try extended needs no room, and is not taken back") {
  const PoolRoom room = room_with(Bytes(0), Bytes(3 * kGiB.count()));
  CHECK(*fit_growth(growth_to(kGiB + kGiB), kNode, room) == Bytes(3 * kGiB.count()));
}

TEST_CASE("a volume that is not made yet grows by what was not promised to it") {
  const auto fit = [](Bytes free) {
    return fit_growth(growth_to(kGiB + kGiB), kNode, room_with(free, Bytes(0)));
  };
  CHECK(fit(kGiB + kGiB).ok());
  CHECK(words(fit(kGiB + kMiB)).find("has 1 MiB free for backend lvm, 1 GiB more asked") !=
        std::string::npos);
}

TEST_CASE(
    "a volume that does not grow keeps what the disks show, and never less than was reported") {
  Growth growth = growth_to(Bytes(9 * kGiB.count()));
  growth.reported = kGiB - kExtent;
  CHECK(size_kept(growth, Bytes(0)) == kGiB);
  CHECK(size_kept(growth, kGiB + kGiB) == kGiB + kGiB);
  growth.reported = kGiB + kExtent;
  CHECK(size_kept(growth, Bytes(0)) == kGiB + kExtent);
  CHECK(size_kept(growth, kGiB) == kGiB + kExtent);
}

TEST_CASE("disks that do not suffice for the layout refuse a growth, but not a conclusion") {
  PoolRoom room = room_with(kGiB, kGiB);
  room.disks_suffice = false;
  room.pool.layout.kind = engine::Layout::Kind::kStriped;
  room.pool.layout.stripes = 2;
  CHECK(words(fit_growth(growth_to(kGiB + kGiB), kNode, room)).find("on 2 different disks") !=
        std::string::npos);
  CHECK(fit_growth(growth_to(kGiB), kNode, room).ok());
}

TEST_CASE("only a mount is waited for when disks, capacity and claim say all that they can") {
  Claim pending = bound_claim("2Gi");
  pending.file_system_pending = true;
  const Bytes two = kGiB + kGiB;
  const Growth raised{sample_spec(), kGiB, two, two};
  CHECK(awaits_mount(raised, pending, two, two, inventory_with(false)));
  CHECK_FALSE(awaits_mount(raised, bound_claim("2Gi"), two, two, inventory_with(false)));
  CHECK_FALSE(awaits_mount(raised, pending, two, two, inventory_with(true)));
  CHECK_FALSE(awaits_mount(raised, pending, two, kGiB, inventory_with(false)));
  CHECK_FALSE(awaits_mount(growth_to(two), pending, two, two, inventory_with(false)));
  // Not made yet: it must have been granted.
  CHECK_FALSE(awaits_mount(raised, pending, two, Bytes(0), {}));
  CHECK(awaits_mount({sample_spec(), two, two, two}, pending, two, Bytes(0), {}));
  // A folder's quota has no mount to wait for.
  Growth folder = raised;
  folder.spec.backend = engine::Backend::kQuota;
  CHECK_FALSE(awaits_mount(folder, pending, two, two, {}));
}

TEST_CASE("the PersistentVolume is told its capacity, and what no disk shows") {
  const Bytes two = kGiB + kGiB;
  CHECK(needs_patch({sample_spec(), kGiB, kGiB, two}, two, true));
  CHECK_FALSE(needs_patch({sample_spec(), kGiB, two, two}, two, true));
  CHECK(needs_patch({sample_spec(), kGiB, Bytes(9 * kGiB.count()), two}, two, true));
  CHECK(needs_patch({sample_spec(), kGiB, two, two}, two, false));
  CHECK_FALSE(needs_patch({sample_spec(), two, two, two}, two, false));
}

TEST_CASE("the status is told when the file system has grown, which an open device shows") {
  Growth growth = growth_to(kGiB + kGiB);
  CHECK(end_of(growth, true, inventory_with(true)) == GrowthEnd::kComplete);
  CHECK(end_of(growth, true, inventory_with(false)) == GrowthEnd::kAtMount);
  CHECK(end_of(growth, true, {}) == GrowthEnd::kAtMount);
  // In use, but the host knows the file system to be smaller than its device.
  engine::Inventory behind = inventory_with(true);
  behind.behind.insert("pvc-" + kUid);
  CHECK(end_of(growth, true, behind) == GrowthEnd::kAtMount);
  // Mounted since, with the size it was made for: kubelet's expandfs makes it grow.
  CHECK(end_of(growth, false, inventory_with(true)) == GrowthEnd::kAtMount);
  growth.spec.backend = engine::Backend::kQuota;
  CHECK(end_of(growth, true, {}) == GrowthEnd::kComplete);
  CHECK(end_of(growth, false, {}) == GrowthEnd::kAtMount);
}

}  // namespace flexlocal::provisioner::test
