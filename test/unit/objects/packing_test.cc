#include <doctest/doctest.h>

#include "flexvolume/base/text.h"
#include "provisioner/kube/keeping.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

template <typename T>
T kept(const T& object) {
  static kube::Keeping<T> keeping;
  const kube::Packed packed = keeping.keep(object);
  return *kube::Keeping<T>::find(packed);
}

// Every member another text, so that none may take the place of another.
Claim full_claim() {
  return {.namespace_name = "shop",
          .name = "data",
          .uid = kUid,
          .resource_version = "17",
          .storage_class = "local",
          .selected_node = "node-a",
          .volume_name = "pvc-" + kUid,
          .volume_mode = "Filesystem",
          .requested = "3Gi",
          .phase = "Bound",
          .capacity = "1Gi",
          .allocated = "2Gi",
          .resize_status = "ControllerResizeInProgress",
          .resize_error = "no room",
          .other_conditions = {R"({"type":"Other"})", "{}"},
          .access_modes = {"ReadWriteOnce", "ReadWriteOncePod"},
          .attributes_class = "gold",
          .has_data_source = true,
          .has_selector = false,
          .file_system_pending = true,
          .deleting = false,
          .marked = true};
}

void check_same(const Claim& one, const Claim& other) {
  CHECK(one.namespace_name == other.namespace_name);
  CHECK(one.name == other.name);
  CHECK(one.uid == other.uid);
  CHECK(one.resource_version == other.resource_version);
  CHECK(one.storage_class == other.storage_class);
  CHECK(one.selected_node == other.selected_node);
  CHECK(one.volume_name == other.volume_name);
  CHECK(one.volume_mode == other.volume_mode);
  CHECK(one.requested == other.requested);
  CHECK(one.phase == other.phase);
  CHECK(one.capacity == other.capacity);
  CHECK(one.allocated == other.allocated);
  CHECK(one.resize_status == other.resize_status);
  CHECK(one.resize_error == other.resize_error);
  CHECK(one.other_conditions == other.other_conditions);
  CHECK(one.access_modes == other.access_modes);
  CHECK(one.attributes_class == other.attributes_class);
  CHECK(one.has_data_source == other.has_data_source);
  CHECK(one.has_selector == other.has_selector);
  CHECK(one.file_system_pending == other.file_system_pending);
  CHECK(one.deleting == other.deleting);
  CHECK(one.marked == other.marked);
}

Volume full_volume() {
  return {.name = "pvc-" + kUid,
          .uid = kOtherUid,
          .resource_version = "18",
          .phase = "Bound",
          .reclaim_policy = "Delete",
          .provisioned_by = "flexlocal.io",
          .node = "node-a",
          .driver = "flexlocal.io/flexlocal",
          .node_uid = kUidOfNode,
          .storage_class = "local",
          .claim_namespace = "shop",
          .claim_name = "data",
          .claim_uid = kUid,
          .capacity = "1Gi",
          .order = sample_order(),
          .copy = kCopy,
          .finalizers = {"flexlocal.io/reclaim", "kubernetes.io/pv-protection"},
          .access_modes = {"ReadWriteOnce"},
          .deleting = true,
          .migrated = false};
}

void check_same(const Volume& one, const Volume& other) {
  CHECK(one.name == other.name);
  CHECK(one.uid == other.uid);
  CHECK(one.resource_version == other.resource_version);
  CHECK(one.phase == other.phase);
  CHECK(one.reclaim_policy == other.reclaim_policy);
  CHECK(one.provisioned_by == other.provisioned_by);
  CHECK(one.node == other.node);
  CHECK(one.driver == other.driver);
  CHECK(one.node_uid == other.node_uid);
  CHECK(one.storage_class == other.storage_class);
  CHECK(one.claim_namespace == other.claim_namespace);
  CHECK(one.claim_name == other.claim_name);
  CHECK(one.claim_uid == other.claim_uid);
  CHECK(one.capacity == other.capacity);
  REQUIRE(one.order.ok() == other.order.ok());
  if (one.order) CHECK(order_text(*one.order) == order_text(*other.order));
  if (!one.order) CHECK(one.order.error().code() == other.order.error().code());
  if (!one.order) CHECK(one.order.error().message() == other.order.error().message());
  CHECK(one.copy == other.copy);
  CHECK(one.finalizers == other.finalizers);
  CHECK(one.access_modes == other.access_modes);
  CHECK(one.deleting == other.deleting);
  CHECK(one.migrated == other.migrated);
}

}  // namespace

TEST_CASE("a claim is kept whole, one that says nothing as well") {
  check_same(kept(full_claim()), full_claim());
  check_same(kept(Claim()), Claim());
  Claim other = full_claim();
  other.has_data_source = other.file_system_pending = other.marked = false;
  other.has_selector = other.deleting = true;
  check_same(kept(other), other);
  const std::string time = R"({"lastTransitionTime":"2026-01-01T00:00:00Z","type":"Unused"})";
  for (const std::string& condition :
       {time, time + time, time.substr(0, 30), time.substr(0, 22), std::string()}) {
    other.other_conditions = {condition, "{}", condition};
    check_same(kept(other), other);
  }
}

TEST_CASE("a PersistentVolume is kept whole, one that says nothing as well") {
  check_same(kept(full_volume()), full_volume());
  check_same(kept(Volume()), Volume());
  Volume other = full_volume();
  other.deleting = false;
  other.migrated = true;
  check_same(kept(other), other);
}

TEST_CASE("of an order that was edited, it is kept what is wrong with it") {
  Volume volume = full_volume();
  for (const std::string& edited : {std::string("{}"), std::string("order"), std::string()}) {
    volume.order = order_of_annotation(edited);
    REQUIRE_FALSE(volume.order);
    check_same(kept(volume), volume);
  }
}

// What a store of tens of thousands is bought for.
TEST_CASE("of a PersistentVolume less is kept than its order's text alone has") {
  kube::Symbols symbols;
  kube::Packer packer(symbols);
  const Volume volume = full_volume();
  volume.pack(packer);
  CHECK(packer.size() < order_text(*volume.order).size() / 2);
}

}  // namespace flexlocal::provisioner::test
