#include "test/unit/objects/samples.h"

#include <stdexcept>

#include "flexvolume/base/text.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner::test {
namespace {

std::string next_version() {
  static int version = 100;
  return concat(++version);
}

std::string of_storage(const std::string& field, const std::string& value) {
  return value.empty() ? "" : concat(",\"", field, R"(":{"storage":")", value, R"("})");
}

std::string status_text(const Claim& claim) {
  std::vector<std::string> conditions = claim.other_conditions;
  if (claim.file_system_pending)
    conditions.emplace_back(R"({"type":"FileSystemResizePending","status":"True"})");
  if (!claim.resize_error.empty())
    conditions.push_back(concat(R"({"type":"ControllerResizeError","status":"True","message":")",
                                claim.resize_error, R"("})"));
  return concat(R"({"phase":")", claim.phase.empty() ? "Pending" : claim.phase, '"',
                R"(,"capacity":{"storage":")", claim.capacity, R"("})",
                of_storage("allocatedResources", claim.allocated),
                of_storage("allocatedResourceStatuses", claim.resize_status), R"(,"conditions":[)",
                join(conditions, ","), "]}");
}

}  // namespace

Claim sample_claim() {
  Claim claim;
  claim.namespace_name = "shop";
  claim.name = "data";
  claim.uid = kUid;
  claim.resource_version = "7";
  claim.storage_class = "local";
  claim.selected_node = kNode;
  claim.volume_mode = "Filesystem";
  claim.requested = "1Gi";
  claim.access_modes = {"ReadWriteOnce"};
  return claim;
}

StorageClass sample_class() {
  StorageClass found;
  found.name = "local";
  found.reclaim_policy = "Delete";
  return found;
}

engine::VolumeSpec sample_spec(const std::string& uid, Bytes size) {
  return {*engine::VolumeName::of_claim(uid),
          kCopy,
          kCluster,
          "shop",
          "default",
          engine::Backend::kLvm,
          engine::FsType::kXfs,
          size};
}

CopyOrder sample_order(const engine::VolumeSpec& spec) {
  CopyOrder order(spec.name);
  order.volume = spec;
  order.node = kNodeIdentity.name;
  order.node_uid = kNodeIdentity.uid;
  order.hostname = kNodeIdentity.hostname;
  order.claim_name = sample_claim().name;
  order.claim_uid = spec.name.claim_uid();
  order.storage_class = sample_class().name;
  order.reclaim_policy = sample_class().reclaim_policy;
  return order;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the sample does not hold " + from);
  return text.replace(at, from.size(), to);
}

std::string volume_text(const engine::VolumeSpec& spec, const std::string& phase) {
  const std::string written = volume_json(sample_order(spec), sample_claim().access_modes);
  const std::string meta =
      concat(R"("metadata":{"uid":"uid-of-pv","resourceVersion":")", next_version(), R"(",)");
  const std::string status = concat(R"({"status":{"phase":")", phase, R"("},)");
  return with(with(written, R"("metadata":{)", meta), "{", status);
}

std::string claim_text(const Claim& claim) {
  return concat(
      R"({"metadata":{"namespace":")", claim.namespace_name, R"(","name":")", claim.name,
      R"(","uid":")", claim.uid, R"(","resourceVersion":")", next_version(), R"(","annotations":{)",
      claim.marked ? R"("volume.beta.kubernetes.io/storage-provisioner":"flexlocal.io",)" : "",
      R"("volume.kubernetes.io/selected-node":")", claim.selected_node,
      R"("}},"spec":{"accessModes":[")", join(claim.access_modes, R"(",")"),
      R"("],"storageClassName":")", claim.storage_class, R"(","volumeName":")", claim.volume_name,
      R"(","volumeMode":"Filesystem","resources":{"requests":)", R"({"storage":")", claim.requested,
      R"("}}},"status":)", status_text(claim), "}");
}

Claim bound_claim(const std::string& requested, const std::string& capacity) {
  Claim claim = sample_claim();
  claim.volume_name = concat("pvc-", claim.uid);
  claim.phase = "Bound";
  claim.requested = requested;
  claim.capacity = capacity;
  return claim;
}

std::string class_text() {
  return concat(R"({"metadata":{"name":"local","resourceVersion":")", next_version(),
                R"("},"provisioner":"flexlocal.io","reclaimPolicy":"Delete",)",
                R"("volumeBindingMode":"WaitForFirstConsumer"})");
}

Volume decoded_volume(const std::string& text) {
  const auto document = JsonDocument::parse(text);
  if (!document) throw std::logic_error(document.error().message());
  auto volume = decode_volume(document->root());
  if (!volume) throw std::logic_error("the sample is none of ours");
  return *volume;
}

}  // namespace flexlocal::provisioner::test
