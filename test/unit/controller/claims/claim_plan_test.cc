#include "provisioner/controller/claims/claim_plan.h"

#include <doctest/doctest.h>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

ClaimPlan plan(const Claim& claim) {
  const StorageClass ours = sample_class();
  return plan_claim(claim, &ours, false, kNode);
}

// Empty when the claim is not refused.
std::string refusal(const Claim& claim) {
  const ClaimPlan planned = plan(claim);
  const auto* refused = std::get_if<Refuse>(&planned);
  return refused == nullptr ? std::string() : refused->why;
}

template <typename Change>
std::string refusal_after(Change change) {
  Claim claim = sample_claim();
  change(claim);
  return refusal(claim);
}

Order order_of(const std::string& requested) {
  Claim claim = sample_claim();
  claim.requested = requested;
  const ClaimPlan planned = plan(claim);
  REQUIRE(std::holds_alternative<Order>(planned));
  return std::get<Order>(planned);
}

}  // namespace

TEST_CASE("a claim for this node becomes an order named after its uid") {
  const Order order = order_of("1Gi");
  CHECK(order.name.text() == "pvc-" + kUid);
  CHECK(order.requested == kGiB);
  CHECK(order.parameters.pool == "default");
}

TEST_CASE("what is deleted, bound, made already or another node's is left alone without a word") {
  const StorageClass ours = sample_class();
  const auto left_alone = [&](const Claim& claim, bool exists) {
    return std::holds_alternative<LeaveAlone>(plan_claim(claim, &ours, exists, kNode));
  };
  CHECK_FALSE(left_alone(sample_claim(), false));
  CHECK(left_alone(sample_claim(), true));
  Claim claim = sample_claim();
  claim.deleting = true;
  CHECK(left_alone(claim, false));
  claim = sample_claim();
  claim.volume_name = "by-hand";
  CHECK(left_alone(claim, false));
  for (const char* node : {"", "node-b", "node-aa", "NODE-A"}) {
    claim = sample_claim();
    claim.selected_node = node;
    CHECK(left_alone(claim, false));
  }
}

TEST_CASE("another node's claim is left alone even when it could never be served") {
  Claim claim = sample_claim();
  claim.selected_node = "node-b";
  claim.volume_mode = "Block";
  CHECK(std::holds_alternative<LeaveAlone>(plan_claim(claim, nullptr, false, kNode)));
}

TEST_CASE("a claim that is not marked yet becomes an order, but is never refused") {
  Claim claim = sample_claim();
  claim.marked = false;
  CHECK(std::holds_alternative<Order>(plan(claim)));
  CHECK(std::holds_alternative<LeaveAlone>(plan_claim(claim, nullptr, false, kNode)));
  claim.volume_mode = "Block";
  CHECK(std::holds_alternative<LeaveAlone>(plan(claim)));
}

TEST_CASE("a volume is meant for the claim that it names, unless it was another of that name") {
  Volume volume;
  volume.claim_namespace = "shop";
  volume.claim_name = "data";
  CHECK(is_meant_for(volume, sample_claim()));
  volume.claim_uid = kUid;
  CHECK(is_meant_for(volume, sample_claim()));
  volume.claim_uid = "of-a-claim-before";
  CHECK_FALSE(is_meant_for(volume, sample_claim()));
  volume.claim_uid.clear();
  volume.claim_name = "other";
  CHECK_FALSE(is_meant_for(volume, sample_claim()));
  volume.claim_name = "data";
  volume.claim_namespace = "other";
  CHECK_FALSE(is_meant_for(volume, sample_claim()));
}

TEST_CASE("every refusal says what is wrong and what is accepted") {
  CHECK(refusal_after([](Claim& c) { c.volume_mode = "Block"; }) ==
        "volumeMode Block is not supported; use Filesystem");
  CHECK(refusal_after([](Claim& c) { c.access_modes.push_back("ReadWriteMany"); }) ==
        "access mode ReadWriteMany is not possible on a local disk; accepted: ReadWriteOnce, "
        "ReadWriteOncePod");
  CHECK(refusal_after([](Claim& c) { c.has_data_source = true; }) ==
        "dataSource is not supported: a local volume starts empty");
  CHECK(refusal_after([](Claim& c) { c.attributes_class = "gold"; }) ==
        "volumeAttributesClassName gold is not supported: make the claim anew without it, and put "
        "what the volume is to be like into its StorageClass");
  CHECK(refusal_after([](Claim& c) { c.has_selector = true; }) ==
        "a selector is not supported: volumes are made for the claim, not chosen");
  CHECK(refusal_after([](Claim& c) { c.requested = "lots"; }) ==
        "the size asked for: \"lots\" is not a quantity such as 512Mi or 10Gi");
  CHECK(refusal_after([](Claim& c) { c.requested = "1Mi"; }) ==
        "1 MiB is too small: an xfs file system needs at least 300 MiB; for less take backend "
        "quota or file "
        "system ext4");
  CHECK(refusal_after([](Claim& c) { c.uid = "../../etc"; }) ==
        "the claim's uid is not one: \"pvc-../../etc\" is not the name of a flexlocal volume "
        "(pvc-<uid>)");
}

TEST_CASE("a claim without a class of ours is refused, and the class is named") {
  const ClaimPlan planned = plan_claim(sample_claim(), nullptr, false, kNode);
  REQUIRE(std::holds_alternative<Refuse>(planned));
  CHECK(std::get<Refuse>(planned).why ==
        "StorageClass local is gone or is not one of flexlocal.io");
}

TEST_CASE("a class with a wrong parameter refuses the claim in the class's words") {
  StorageClass wrong = sample_class();
  wrong.parameters["raid"] = "5";
  const ClaimPlan planned = plan_claim(sample_claim(), &wrong, false, kNode);
  REQUIRE(std::holds_alternative<Refuse>(planned));
  CHECK(std::get<Refuse>(planned).why ==
        "StorageClass local: parameter \"raid\" is not known; accepted: backend, pool, fsType, "
        "diskPerRam, sizeFrom, "
        "onDelete, readIOPS, writeIOPS, readBandwidth, writeBandwidth, ioLimits");
}

TEST_CASE("both single-node access modes and the default volume mode are accepted") {
  CHECK(refusal_after([](Claim& c) { c.access_modes = {"ReadWriteOncePod"}; }).empty());
  CHECK(refusal_after([](Claim& c) { c.access_modes.clear(); }).empty());
  CHECK(refusal_after([](Claim& c) { c.volume_mode.clear(); }).empty());
}

TEST_CASE("the smallest size is accepted, one byte less is not") {
  CHECK(refusal_after([](Claim& c) { c.requested = "300Mi"; }).empty());
  CHECK(refusal_after([](Claim& c) { c.requested = "314572799"; }) ==
        "299.99 MiB is too small: an xfs file system needs at least 300 MiB; for less take backend "
        "quota or file "
        "system ext4");
}

TEST_CASE("an order asks the disks for what the class and the claim say") {
  Order order = order_of("1Gi");
  order.parameters.backend = engine::Backend::kThin;
  order.parameters.pool = "fast";
  const Promise wanted = promise_of(order);
  CHECK(wanted.name == "pvc-" + kUid);
  CHECK(wanted.backend == engine::Backend::kThin);
  CHECK(wanted.pool == "fast");
  CHECK(wanted.size == kGiB);
}

}  // namespace flexlocal::provisioner::test
