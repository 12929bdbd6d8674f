#include "provisioner/objects/objects.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// The annotation's name before and since Kubernetes 1.23
// (pkg/controller/volume/persistentvolume/util).
constexpr std::string_view kBetaProvisioner = "volume.beta.kubernetes.io/storage-provisioner";
constexpr std::string_view kProvisionerAnnotation = "volume.kubernetes.io/storage-provisioner";
// Still honoured by the API server's own helpers (pkg/apis/core/v1/helper).
constexpr std::string_view kBetaClass = "volume.beta.kubernetes.io/storage-class";
// What an expand controller says while it works (pkg/apis/core/types.go).
constexpr std::string_view kResizing = "Resizing";
// What kubelet would say of a driver whose file systems it grows.
constexpr std::string_view kNodeResizeError = "NodeResizeError";
constexpr std::string_view kMigratedTo = "pv.kubernetes.io/migrated-to";

std::string text(JsonView value) { return std::string(value.text()); }

// A name of another object's as a tenant wrote it, perhaps by the hundred kilobytes: of one that is
// too long to be a name no more is kept than shows that. Source:
// k8s.io/apimachinery/pkg/util/validation (DNS1123SubdomainMaxLength)
std::string name_in(JsonView value) {
  constexpr std::size_t kLongest = 253;
  return std::string(value.text().substr(0, kLongest + 1));
}

// A quantity as somebody wrote it; one that is too long to be one is none.
std::string quantity_in(JsonView value) {
  constexpr std::size_t kLongest = 64;
  return value.text().size() <= kLongest ? text(value) : std::string("(too long)");
}

std::vector<std::string> texts(JsonView array) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < array.size(); ++i) out.emplace_back(array.at(i).text());
  return out;
}

// Growth's own conditions are written anew by whoever concludes it; others' are kept as they are.
void read_conditions(JsonView conditions, Claim& claim) {
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const JsonView condition = conditions.at(i);
    const std::string_view type = condition["type"].text();
    if (type == kFileSystemResizePending)
      claim.file_system_pending = condition["status"].text() == "True";
    else if (type == kControllerResizeError)
      claim.resize_error = text(condition["message"]);
    else if (type != kResizing && type != kNodeResizeError)
      claim.other_conditions.push_back(condition.dump());
  }
}

// The API server takes no term that names a label twice (pkg/apis/core/validation).
TopologyTerm topology_term(JsonView term) {
  TopologyTerm labels;
  const JsonView expressions = term["matchLabelExpressions"];
  for (std::size_t i = 0; i < expressions.size(); ++i)
    labels[text(expressions.at(i)["key"])] = texts(expressions.at(i)["values"]);
  return labels;
}

bool is_marked(JsonView claim) {
  const JsonView annotations = claim["metadata"]["annotations"];
  return annotations[kBetaProvisioner].text() == engine::kProvisioner ||
         annotations[kProvisionerAnnotation].text() == engine::kProvisioner;
}

// The annotation would be the one that counts.
bool has_class_in_spec(JsonView claim) {
  return !claim["metadata"]["annotations"][kBetaClass].exists();
}

Claim read_claim(JsonView object) {
  const JsonView meta = object["metadata"];
  const JsonView annotations = meta["annotations"];
  const JsonView spec = object["spec"];
  Claim claim;
  claim.marked = is_marked(object);
  claim.namespace_name = text(meta["namespace"]);
  claim.name = text(meta["name"]);
  claim.uid = text(meta["uid"]);
  claim.resource_version = text(meta["resourceVersion"]);
  claim.storage_class = name_in(spec["storageClassName"]);
  if (claim.storage_class.empty()) claim.storage_class = name_in(annotations[kBetaClass]);
  claim.selected_node = name_in(annotations[kSelectedNode]);
  claim.volume_name = name_in(spec["volumeName"]);
  claim.volume_mode = text(spec["volumeMode"]);
  claim.requested = quantity_in(spec["resources"]["requests"]["storage"]);
  claim.access_modes = texts(spec["accessModes"]);
  claim.has_data_source = spec["dataSource"].is_object() || spec["dataSourceRef"].is_object();
  claim.has_selector = spec["selector"].is_object();
  claim.attributes_class = name_in(spec["volumeAttributesClassName"]);
  claim.deleting = meta["deletionTimestamp"].exists();
  const JsonView status = object["status"];
  claim.phase = text(status["phase"]);
  claim.capacity = text(status["capacity"]["storage"]);
  claim.allocated = text(status["allocatedResources"]["storage"]);
  claim.resize_status = text(status["allocatedResourceStatuses"]["storage"]);
  read_conditions(status["conditions"], claim);
  return claim;
}

Error unusable_order(const Volume& volume, std::string_view why) {
  return Error(ErrorCode::kInvalid,
               concat("PersistentVolume ", volume.name, ": annotation ", kOrder, ' ', why,
                      ": put back what it said when the volume was made; until then the volume is "
                      "neither removed nor grown, nor mounted if its record was lost"));
}

}  // namespace

std::optional<Claim> decode_claim(JsonView object) { return decode_claim_of(object, {}); }

std::optional<Claim> decode_claim_of(JsonView object, const ClassNames& classes) {
  const bool ours =
      is_marked(object) ||
      (has_class_in_spec(object) && classes.contains(object["spec"]["storageClassName"].text()));
  return ours ? std::optional(read_claim(object)) : std::nullopt;
}

std::optional<Claim> decode_open_claim(JsonView object) {
  const bool open = has_class_in_spec(object) && object["spec"]["volumeName"].text().empty();
  return open || is_marked(object) ? std::optional(read_claim(object)) : std::nullopt;
}

std::optional<Volume> decode_volume(JsonView object) {
  const JsonView meta = object["metadata"];
  const JsonView annotations = meta["annotations"];
  if (annotations[kProvisionedBy].text() != engine::kProvisioner) return std::nullopt;
  const JsonView spec = object["spec"];
  Volume volume;
  volume.name = text(meta["name"]);
  volume.uid = text(meta["uid"]);
  volume.resource_version = text(meta["resourceVersion"]);
  volume.phase = text(object["status"]["phase"]);
  volume.reclaim_policy = text(spec["persistentVolumeReclaimPolicy"]);
  volume.provisioned_by = text(annotations[kProvisionedBy]);
  volume.node = text(meta["labels"][kNodeLabel]);
  volume.driver = text(spec["flexVolume"]["driver"]);
  volume.node_uid = text(annotations[kNodeUid]);
  volume.storage_class = text(spec["storageClassName"]);
  volume.claim_namespace = text(spec["claimRef"]["namespace"]);
  volume.claim_name = text(spec["claimRef"]["name"]);
  volume.claim_uid = text(spec["claimRef"]["uid"]);
  volume.capacity = text(spec["capacity"]["storage"]);
  volume.order = order_of_annotation(annotations[kOrder].text());
  // A person may change a label, and take it away.
  if (volume.order) volume.node = volume.order->node;
  volume.copy = text(spec["flexVolume"]["options"][engine::kCopyOption]);
  volume.finalizers = texts(meta["finalizers"]);
  volume.access_modes = texts(spec["accessModes"]);
  volume.deleting = meta["deletionTimestamp"].exists();
  volume.migrated = annotations[kMigratedTo].exists();
  return volume;
}

std::optional<StorageClass> decode_storage_class(JsonView object) {
  if (object["provisioner"].text() != engine::kProvisioner) return std::nullopt;
  StorageClass found;
  found.name = text(object["metadata"]["name"]);
  found.reclaim_policy = text(object["reclaimPolicy"]);
  found.parameters = object["parameters"].string_map();
  found.mount_options = texts(object["mountOptions"]);
  found.immediate = object["volumeBindingMode"].text() == "Immediate";
  const JsonView terms = object["allowedTopologies"];
  for (std::size_t i = 0; i < terms.size(); ++i)
    found.allowed_topologies.push_back(topology_term(terms.at(i)));
  return found;
}

bool is_ours(const Volume& volume) {
  return volume.provisioned_by == engine::kProvisioner && volume.driver == engine::kDriver &&
         !volume.migrated;
}

bool is_held(const Volume& volume) {
  return std::find(volume.finalizers.begin(), volume.finalizers.end(), kFinalizer) !=
         volume.finalizers.end();
}

std::string uid_of(JsonView object) { return std::string(object["metadata"]["uid"].text()); }

kube::ObjectReference reference_to(const Claim& claim) {
  return {.kind = "PersistentVolumeClaim",
          .namespace_name = claim.namespace_name,
          .name = claim.name,
          .uid = claim.uid,
          .api_version = "v1",
          .resource_version = claim.resource_version};
}

kube::ObjectReference reference_to(const Volume& volume) {
  return {.kind = "PersistentVolume",
          .namespace_name = {},
          .name = volume.name,
          .uid = volume.uid,
          .api_version = "v1",
          .resource_version = volume.resource_version};
}

kube::ObjectReference reference_to_claim_of(const Volume& volume) {
  return {.kind = "PersistentVolumeClaim",
          .namespace_name = volume.claim_namespace,
          .name = volume.claim_name,
          .uid = volume.claim_uid,
          .api_version = "v1",
          .resource_version = {}};
}

engine::AccessMode access_mode_of(const std::vector<std::string>& modes) {
  const auto one_pod = engine::AccessMode::kReadWriteOncePod;
  const bool asked = std::find(modes.begin(), modes.end(), to_string(one_pod)) != modes.end();
  return asked ? one_pod : engine::AccessMode::kReadWriteOnce;
}

Result<engine::VolumeSpec> stated_spec(const Volume& volume) {
  if (!volume.order) return unusable_order(volume, volume.order.error().message());
  engine::VolumeSpec spec = volume.order->volume;
  if (spec.name.text() != volume.name)
    return unusable_order(volume, concat("is that of ", spec.name.text()));
  if (spec.copy != volume.copy)
    return unusable_order(
        volume, concat("is that of copy \"", spec.copy, "\", and option ", engine::kCopyOption,
                       " says \"", printable(volume.copy, 40), '"'));
  spec.access_mode = access_mode_of(volume.access_modes);
  return spec;
}

Result<engine::VolumeSpec> spec_of(const Volume& volume) {
  auto spec = stated_spec(volume);
  if (!spec) return spec;
  if (spec->name.claim_uid() != volume.claim_uid)
    return Error(ErrorCode::kInvalid, concat("PersistentVolume ", volume.name,
                                             " is for another claim than its name says"));
  return spec;
}

}  // namespace flexlocal::provisioner
