#include "provisioner/capacity_object.h"

#include <sodium.h>

#include <array>
#include <vector>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kGroup = "storage.k8s.io/";
constexpr std::array<std::string_view, 3> kVersions = {"v1", "v1beta1", "v1alpha1"};
constexpr std::string_view kAlpha = "storage.k8s.io/v1alpha1";
// What kubelet does for a volume whose driver answers init with fsGroup: true.
constexpr std::string_view kFsGroupPolicy = "File";

bool has_capacities(JsonView resource_list) {
  const JsonView resources = resource_list["resources"];
  for (std::size_t i = 0; i < resources.size(); ++i)
    if (resources.at(i)["name"].text() == kCapacities) return true;
  return false;
}

void write_sizes(JsonWriter& json, const CapacityPlace& place, Bytes size) {
  const std::string quantity = format_quantity(size);
  json.member("capacity", quantity);
  if (place.version != kAlpha) json.member("maximumVolumeSize", quantity);
}

void write_owner(JsonWriter& json, const CapacityOwner& owner) {
  if (owner.uid.empty()) return;
  json.key("ownerReferences").begin_array().begin_object();
  json.member("apiVersion", "apps/v1").member("kind", "DaemonSet").member("name", owner.name);
  json.member("uid", owner.uid).key("controller").boolean(true).end_object().end_array();
}

std::string mode_list(JsonView modes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < modes.size(); ++i) names.push_back(printable(modes.at(i).text(), 40));
  return join(names, ", ");
}

}  // namespace

Task<Result<std::string>> find_capacity_version(kube::ApiClient& api) {
  for (const std::string_view version : kVersions) {
    std::string group_version = concat(kGroup, version);
    const std::string path = concat("/apis/", group_version);
    const auto answer = co_await api.get(path);
    if (!answer && answer.error().code() != ErrorCode::kNotFound)
      co_return answer.error().context("looking for CSIStorageCapacity");
    if (answer && has_capacities(answer->root())) co_return group_version;
  }
  co_return std::string();
}

std::string capacity_name(const NodeIdentity& node, std::string_view storage_class) {
  const std::string text = concat(node.name, '\n', node.hostname, '\n', storage_class);
  std::array<unsigned char, 16> hash{};
  ::crypto_generichash(hash.data(), hash.size(),
                       reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr,
                       0);
  std::array<char, 2 * sizeof hash + 1> digits{};
  ::sodium_bin2hex(digits.data(), digits.size(), hash.data(), hash.size());
  return concat("flexlocal-", digits.data());
}

std::string capacity_path(const CapacityPlace& place, std::string_view name) {
  return kube::object_path(place.version, kCapacities, place.namespace_name, name);
}

std::string capacity_json(const CapacityPlace& place, const NodeIdentity& node,
                          const StorageClass& storage_class, Bytes size) {
  JsonWriter json;
  json.begin_object().member("apiVersion", place.version).member("kind", "CSIStorageCapacity");
  json.key("metadata").begin_object().member("name", capacity_name(node, storage_class.name));
  json.key("labels").begin_object().member(kNodeLabel, node.name);
  if (storage_class.immediate) json.member(kImmediateLabel, "true");
  json.end_object();
  write_owner(json, place.owner);
  json.end_object();
  json.key("nodeTopology").begin_object().key("matchLabels").begin_object();
  json.member(kHostnameLabel, node.hostname).end_object().end_object();
  json.member("storageClassName", storage_class.name);
  write_sizes(json, place, size);
  json.end_object();
  return json.take();
}

std::string capacity_patch(const CapacityPlace& place, const StorageClass& storage_class,
                           Bytes size) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object().key("labels").begin_object();
  json.key(kImmediateLabel);
  if (storage_class.immediate)
    json.string("true");
  else
    json.null();
  json.end_object().end_object();
  write_sizes(json, place, size);
  json.end_object();
  return json.take();
}

std::string driver_json() {
  JsonWriter json;
  json.begin_object().member("apiVersion", "storage.k8s.io/v1").member("kind", "CSIDriver");
  json.key("metadata").begin_object().member("name", engine::kProvisioner).end_object();
  json.key("spec").begin_object();
  json.key("attachRequired").boolean(false).key("podInfoOnMount").boolean(true);
  json.key("storageCapacity").boolean(true);
  json.key("volumeLifecycleModes").begin_array().string("Persistent").end_array();
  json.member("fsGroupPolicy", kFsGroupPolicy).end_object().end_object();
  return json.take();
}

// An API server that does not know a field drops it.
std::optional<std::string> driver_differs(JsonView driver) {
  const JsonView spec = driver["spec"];
  std::vector<std::string> found;
  const auto expect = [&](std::string_view field, bool value) {
    if (spec[field].boolean() != value)
      found.push_back(concat(field, " is not ", value ? "true" : "false"));
  };
  expect("attachRequired", false);
  expect("podInfoOnMount", true);
  expect("storageCapacity", true);
  // The scheduler of Kubernetes 1.37 would look for the driver in CSINode, where only kubelet
  // enters one that is CSI's (pkg/scheduler/framework/plugins/nodevolumelimits,
  // checkCSIDriverOnNode).
  if (spec["preventPodSchedulingIfMissing"].boolean() == true)
    found.emplace_back("preventPodSchedulingIfMissing is not false");
  const std::string modes = mode_list(spec["volumeLifecycleModes"]);
  if (modes != "Persistent") found.push_back(concat("volumeLifecycleModes is [", modes, ']'));
  const JsonView policy = spec["fsGroupPolicy"];
  if (policy.exists() && policy.text() != kFsGroupPolicy)
    found.push_back(concat("fsGroupPolicy is ", printable(policy.text(), 40)));
  if (found.empty()) return std::nullopt;
  return join(found, ", ");
}

}  // namespace flexlocal::provisioner
