#include "provisioner/objects/capacity_object.h"

#include <sodium.h>

#include <array>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kGroup = "storage.k8s.io/";
constexpr std::array<std::string_view, 3> kVersions = {"v1", "v1beta1", "v1alpha1"};
constexpr std::string_view kAlpha = "storage.k8s.io/v1alpha1";

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

PublishedCapacity decode_capacity(JsonView object) {
  const JsonView meta = object["metadata"];
  const JsonView largest = object["maximumVolumeSize"];
  const auto capacity = parse_quantity(object["capacity"].text());
  const auto size = largest.exists() ? parse_quantity(largest.text()) : capacity;
  return {.name = std::string(meta["name"].text()),
          .node = std::string(meta["labels"][kNodeLabel].text()),
          .hostname = std::string(object["nodeTopology"]["matchLabels"][kHostnameLabel].text()),
          .storage_class = std::string(object["storageClassName"].text()),
          .size = size ? *size : Bytes(),
          .preconditions = {std::string(meta["uid"].text()),
                            std::string(meta["resourceVersion"].text())},
          .is_ours = size && capacity && *size == *capacity};
}

}  // namespace flexlocal::provisioner
