#include "provisioner/objects/volume_object.h"

#include <doctest/doctest.h>

#include "flexvolume/base/json.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

JsonDocument written(const engine::VolumeSpec& spec = sample_spec(),
                     const StorageClass& storage_class = sample_class()) {
  return std::move(*JsonDocument::parse(
      volume_json(spec, "1-grant", sample_claim(), storage_class, {kNode, "host-a"})));
}

}  // namespace

TEST_CASE("a volume that is written reads back as the same volume, whatever it asks for") {
  std::vector<engine::VolumeSpec> specs = {sample_spec(kUid, Bytes(300 * kMiB.count())),
                                           sample_spec(kUid, kGiB + Bytes(1))};
  engine::VolumeSpec all = sample_spec();
  all.pool = "fast-1";
  all.backend = engine::Backend::kThin;
  all.fs_type = engine::FsType::kExt4;
  all.on_delete = engine::OnDelete::kZero;
  all.limits = {1, 2, Bytes(3), kMostBytes, true};
  all.mount_options = {"noatime", "discard"};
  specs.push_back(all);
  for (const engine::VolumeSpec& spec : specs) {
    const JsonDocument document = written(spec);
    const auto volume = decode_volume(document.root());
    REQUIRE(volume.has_value());
    const auto back = spec_of(*volume);
    REQUIRE(back.ok());
    CHECK(back->name == spec.name);
    CHECK(back->fs_type == spec.fs_type);
    CHECK(engine::to_options(*back) == engine::to_options(spec));
    CHECK(*parse_quantity(volume->capacity) == spec.size);
  }
}

TEST_CASE("the grant is an option, and class mount options are one, too: kubelet refuses others") {
  engine::VolumeSpec spec = sample_spec();
  spec.mount_options = {"noatime", "noexec"};
  const JsonDocument document = written(spec);
  const JsonView options = document.root()["spec"]["flexVolume"]["options"];
  CHECK(options["flexlocal.io/grant"].text() == "1-grant");
  CHECK(options["flexlocal.io/mountOptions"].text() == "noatime,noexec");
  CHECK_FALSE(document.root()["spec"]["mountOptions"].exists());
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
  CHECK(root["metadata"]["annotations"].dump() ==
        R"({"pv.kubernetes.io/provisioned-by":"flexlocal.io"})");
  CHECK(root["metadata"]["finalizers"].dump() == R"(["flexlocal.io/reclaim"])");
  CHECK(root["spec"]["storageClassName"].text() == "local");
  CHECK(root["spec"]["accessModes"].dump() == R"(["ReadWriteOnce"])");
}

TEST_CASE("a volume says on which Node it was made, by uid, when that is known") {
  const auto document = JsonDocument::parse(volume_json(
      sample_spec(), "1-grant", sample_claim(), sample_class(), {kNode, "host-a", "uid-of-node"}));
  REQUIRE(document.ok());
  CHECK(document->root()["metadata"]["annotations"]["flexlocal.io/node-uid"].text() ==
        "uid-of-node");
  CHECK(decode_volume(document->root())->node_uid == "uid-of-node");
}

TEST_CASE("a volume's source names pool and size but no node, and no mount options") {
  const JsonDocument document = written();
  const JsonView spec = document.root()["spec"];
  CHECK(spec["flexVolume"]["driver"].text() == "flexlocal.io/flexlocal");
  CHECK(spec["flexVolume"]["fsType"].text() == "xfs");
  CHECK_FALSE(spec["mountOptions"].exists());
  CHECK(spec["flexVolume"].dump().find(kNode) == std::string::npos);
  CHECK(spec["flexVolume"].dump().find("host-a") == std::string::npos);
}

TEST_CASE("the class decides what becomes of the data; without a word it is deleted") {
  StorageClass storage_class = sample_class();
  for (const char* policy : {"Retain", "Delete", ""}) {
    storage_class.reclaim_policy = policy;
    const JsonDocument document = written(sample_spec(), storage_class);
    CHECK(document.root()["spec"]["persistentVolumeReclaimPolicy"].text() ==
          (*policy == '\0' ? "Delete" : policy));
  }
}

}  // namespace flexlocal::provisioner::test
