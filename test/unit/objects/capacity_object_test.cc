#include "provisioner/objects/capacity_object.h"

#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

const NodeIdentity kIdentity{kNode, "host-a", "uid-of-node"};
StorageClass named(const std::string& name, bool immediate) {
  StorageClass storage_class;
  storage_class.name = name;
  storage_class.immediate = immediate;
  return storage_class;
}
const StorageClass kLate = named("local", false);
const StorageClass kImmediate = named("local", true);
const CapacityPlace kPlace{"storage.k8s.io/v1", "ns", {"flexlocal-node", "uid-of-set"}};

std::string resources(const std::string& names) {
  return concat(R"({"kind":"APIResourceList","resources":[{"name":"storageclasses"})", names, "]}");
}
const std::string kWith = resources(R"(,{"name":"csistoragecapacities"})");

}  // namespace

TEST_CASE_FIXTURE(NodeLab, "the newest version that has them is taken") {
  const auto version = [&] { return wait_for(find_capacity_version(api)); };
  answers["GET /apis/storage.k8s.io/v1"] = {{200, resources("")}};
  answers["GET /apis/storage.k8s.io/v1beta1"] = {{404, refused("NotFound")}};
  answers["GET /apis/storage.k8s.io/v1alpha1"] = {{404, refused("NotFound")}};
  CHECK(version()->empty());
  answers["GET /apis/storage.k8s.io/v1alpha1"] = {{200, kWith}};
  CHECK(*version() == "storage.k8s.io/v1alpha1");
  answers["GET /apis/storage.k8s.io/v1beta1"] = {{200, kWith}};
  CHECK(*version() == "storage.k8s.io/v1beta1");
  answers["GET /apis/storage.k8s.io/v1"] = {{200, kWith}};
  CHECK(*version() == "storage.k8s.io/v1");
}

TEST_CASE_FIXTURE(NodeLab, "a server that does not say what it has is an error, not a no") {
  answers["GET /apis/storage.k8s.io/v1"] = {{503, "{}"}};
  const auto version = wait_for(find_capacity_version(api));
  REQUIRE_FALSE(version.ok());
  CHECK(version.error().code() == ErrorCode::kUnavailable);
}

TEST_CASE("a node's object for a class has one name, and no other has it") {
  const std::string name = capacity_name(kIdentity, "local");
  CHECK(name == capacity_name(kIdentity, "local"));
  CHECK(name.size() == 42);
  CHECK(name.starts_with("flexlocal-"));
  CHECK(name.find_first_not_of("0123456789abcdef", 10) == std::string::npos);
  CHECK(name != capacity_name(kIdentity, "other"));
  CHECK(name != capacity_name({kNode, "host-b"}, "local"));
  CHECK(name != capacity_name({"node-b", "host-a"}, "local"));
  CHECK(capacity_name({"a", "b"}, "c") != capacity_name({"a\nb", "c"}, ""));
}

TEST_CASE("the object says where, what class, how much, and whose it is") {
  CHECK(
      capacity_json(kPlace, kIdentity, kLate, kGiB) ==
      concat(
          R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity","metadata":{"name":")",
          capacity_name(kIdentity, "local"),
          R"(","labels":{"flexlocal.io/node":"node-a"},"ownerReferences":[{"apiVersion":)",
          R"("apps/v1","kind":"DaemonSet","name":"flexlocal-node","uid":"uid-of-set",)",
          R"("controller":true}]},"nodeTopology":{"matchLabels":{"kubernetes.io/hostname":)",
          R"("host-a"}},"storageClassName":"local","capacity":"1Gi","maximumVolumeSize":"1Gi"})"));
  CHECK(capacity_patch(kPlace, kLate, Bytes(0)) ==
        concat(R"({"metadata":{"labels":{"flexlocal.io/immediate":null}},)",
               R"("capacity":"0","maximumVolumeSize":"0"})"));
}

TEST_CASE("that its class does not wait for pods is a label, to be selected by") {
  const std::string json = capacity_json(kPlace, kIdentity, kImmediate, kGiB);
  CHECK(json.find(R"("labels":{"flexlocal.io/node":"node-a","flexlocal.io/immediate":"true"})") !=
        std::string::npos);
  CHECK(capacity_patch(kPlace, kImmediate, kGiB)
            .starts_with(R"({"metadata":{"labels":{"flexlocal.io/immediate":"true"}},)"));
}

// The scheduler scores by `capacity` without looking whether it is there, once the larger of both
// has let the node pass (pkg/scheduler/framework/plugins/volumebinding, Score and Filter).
TEST_CASE("no object ever says maximumVolumeSize without capacity, or more than it") {
  for (const std::string version : {"v1", "v1beta1", "v1alpha1"})
    for (const Bytes size : {Bytes(0), Bytes(1), kGiB, kMostBytes}) {
      const CapacityPlace place{concat("storage.k8s.io/", version), "ns"};
      for (const std::string& json :
           {capacity_json(place, kIdentity, kLate, size), capacity_patch(place, kLate, size)}) {
        const auto document = JsonDocument::parse(json);
        REQUIRE(document.ok());
        const JsonView root = document->root();
        CHECK(root["capacity"].text() == format_quantity(size));
        if (root["maximumVolumeSize"].exists())
          CHECK(root["maximumVolumeSize"].text() == root["capacity"].text());
      }
    }
}

TEST_CASE("what a version, or the installation, does not have is left out") {
  const CapacityPlace bare{"storage.k8s.io/v1alpha1", "ns"};
  const std::string json = capacity_json(bare, kIdentity, kLate, kGiB);
  CHECK(json.find("ownerReferences") == std::string::npos);
  CHECK(json.find("maximumVolumeSize") == std::string::npos);
  CHECK(capacity_patch(bare, kLate, kGiB).ends_with(R"(,"capacity":"1Gi"})"));
  CHECK(capacity_path(bare, "") ==
        "/apis/storage.k8s.io/v1alpha1/namespaces/ns/csistoragecapacities");
  CHECK(capacity_path(kPlace, "x") ==
        "/apis/storage.k8s.io/v1/namespaces/ns/csistoragecapacities/x");
}

TEST_CASE("an object whose two sizes differ was written by somebody else") {
  const auto decoded = [](const std::string& sizes) {
    const auto document = JsonDocument::parse('{' + sizes + '}');
    REQUIRE(document.ok());
    return decode_capacity(document->root());
  };
  CHECK(decoded(R"("capacity":"1Gi","maximumVolumeSize":"1024Mi")").is_ours);
  CHECK(decoded(R"("capacity":"1Gi")").is_ours);
  CHECK_FALSE(decoded(R"("capacity":"1Ti","maximumVolumeSize":"1Gi")").is_ours);
  CHECK_FALSE(decoded(R"("maximumVolumeSize":"1Gi")").is_ours);
  CHECK_FALSE(decoded(R"("capacity":"much")").is_ours);
  CHECK(decoded(R"("capacity":"1Ti","maximumVolumeSize":"1Gi")").size == kGiB);
}

}  // namespace flexlocal::provisioner::test
