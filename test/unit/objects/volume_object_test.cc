#include "provisioner/objects/volume_object.h"

#include <doctest/doctest.h>

#include "flexvolume/base/json.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

JsonDocument written(const CopyOrder& order = sample_order()) {
  const std::vector<std::string> modes{std::string(to_string(order.volume.access_mode))};
  return std::move(*JsonDocument::parse(volume_json(order, modes)));
}

Volume read(const CopyOrder& order) {
  const JsonDocument document = written(order);
  auto volume = decode_volume(document.root());
  REQUIRE(volume.has_value());
  return *volume;
}

CopyOrder full_order() {
  CopyOrder order = sample_order();
  order.volume.pool = "fast-1";
  order.volume.backend = engine::Backend::kThin;
  order.volume.fs_type = engine::FsType::kExt4;
  order.volume.on_delete = engine::OnDelete::kNone;
  order.volume.limits = {1, 2, Bytes(3), kMostBytes, true};
  order.volume.mount_options = {"noatime", "discard"};
  order.volume.access_mode = engine::AccessMode::kReadWriteOncePod;
  order.reclaim_policy = "Retain";
  order.disk_per_ram = Ratio::of_millionths(1'500'000);
  return order;
}

}  // namespace

TEST_CASE("a volume that is written reads back as the same volume, whatever it asks for") {
  std::vector<CopyOrder> orders = {full_order(),
                                   sample_order(sample_spec(kUid, Bytes(300 * kMiB.count()))),
                                   sample_order(sample_spec(kUid, kGiB + Bytes(1)))};
  for (const engine::OnDelete wipe : {engine::OnDelete::kZero, engine::OnDelete::kNone}) {
    orders.push_back(sample_order());
    orders.back().volume.on_delete = wipe;
  }
  orders.push_back(sample_order());
  orders.back().volume.backend = engine::Backend::kQuota;
  for (const CopyOrder& order : orders) {
    const Volume volume = read(order);
    const auto back = spec_of(volume);
    REQUIRE(back.ok());
    CHECK(*back == order.volume);
    CHECK(*parse_quantity(volume.capacity) == order.volume.size);
    const auto& whole = volume.order;
    REQUIRE(whole.ok());
    CHECK(order_text(*whole) == order_text(order));
  }
}

TEST_CASE("which copy it stands for is the only option, and no mount option is beside it") {
  const JsonDocument document = written(full_order());
  const JsonView spec = document.root()["spec"];
  CHECK(spec["flexVolume"].dump() == R"({"driver":"flexlocal.io/flexlocal","fsType":"ext4",)"
                                     R"("options":{"flexlocal.io/copy":")" +
                                         kCopy + R"("}})");
  CHECK_FALSE(spec["mountOptions"].exists());
}

TEST_CASE("affinity goes by the hostname label's value, our own label by the Node's name") {
  const JsonDocument document = written();
  const JsonView terms = document.root()["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
  REQUIRE(terms.size() == 1);
  const JsonView expressions = terms.at(0)["matchExpressions"];
  REQUIRE(expressions.size() == 1);
  CHECK(expressions.at(0).dump() ==
        R"({"key":"kubernetes.io/hostname","operator":"In","values":["host-a"]})");
  CHECK(document.root()["metadata"]["labels"].dump() == R"({"flexlocal.io/node":"node-a"})");
}

TEST_CASE("a volume is tied to exactly its claim, and says who made it and who must let it go") {
  const JsonDocument document = written();
  const JsonView root = document.root();
  CHECK(root["metadata"]["name"].text() == "pvc-" + kUid);
  CHECK(root["spec"]["claimRef"].dump() ==
        R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"shop","name":"data",)"
        R"("uid":")" +
            kUid + R"("})");
  CHECK(root["metadata"]["annotations"].string_map() ==
        std::map<std::string, std::string>{{"pv.kubernetes.io/provisioned-by", "flexlocal.io"},
                                           {"flexlocal.io/node-uid", kUidOfNode},
                                           {"flexlocal.io/order", order_text(sample_order())}});
  CHECK(root["metadata"]["finalizers"].dump() == R"(["flexlocal.io/reclaim"])");
  CHECK(root["spec"]["storageClassName"].text() == "local");
  CHECK(root["spec"]["accessModes"].dump() == R"(["ReadWriteOnce"])");
  CHECK(root["spec"]["volumeMode"].text() == "Filesystem");
}

TEST_CASE("the claim's access modes stand in the volume as they stand in the claim") {
  const auto document =
      JsonDocument::parse(volume_json(sample_order(), {"ReadWriteOnce", "Other"}));
  REQUIRE(document.ok());
  CHECK(document->root()["spec"]["accessModes"].dump() == R"(["ReadWriteOnce","Other"])");
}

TEST_CASE("the order decides what becomes of the data") {
  for (const char* policy : {"Retain", "Delete"}) {
    CopyOrder order = sample_order();
    order.reclaim_policy = policy;
    CHECK(read(order).reclaim_policy == policy);
  }
}

}  // namespace flexlocal::provisioner::test
