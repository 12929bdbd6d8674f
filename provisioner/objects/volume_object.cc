#include "provisioner/objects/volume_object.h"

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// No annotation of others: by volume.alpha.kubernetes.io/pre-resize-capacity a claim that is bound
// anew would be told that it has an old size (updateClaimStatus in
// pkg/controller/volume/persistentvolume).
void write_metadata(JsonWriter& json, const engine::VolumeSpec& spec, const NodeIdentity& node) {
  json.key("metadata").begin_object().member("name", spec.name.text());
  json.key("labels").begin_object().member(kNodeLabel, node.name).end_object();
  json.key("annotations").begin_object().member(kProvisionedBy, engine::kProvisioner);
  if (!node.uid.empty()) json.member(kNodeUid, node.uid);
  json.end_object();
  json.key("finalizers").begin_array().string(kFinalizer).end_array().end_object();
}

void write_affinity(JsonWriter& json, const NodeIdentity& node) {
  json.key("nodeAffinity").begin_object().key("required").begin_object();
  json.key("nodeSelectorTerms").begin_array().begin_object().key("matchExpressions").begin_array();
  json.begin_object().member("key", kHostnameLabel).member("operator", "In");
  json.key("values").begin_array().string(node.hostname).end_array().end_object();
  json.end_array().end_object().end_array().end_object().end_object();
}

void write_source(JsonWriter& json, const engine::VolumeSpec& spec, const std::string& grant) {
  json.key("flexVolume").begin_object().member("driver", engine::kDriver);
  json.member("fsType", engine::to_string(spec.fs_type)).key("options").begin_object();
  for (const auto& [key, value] : engine::to_options(spec)) json.member(key, value);
  json.member(engine::kGrantKey, grant);
  json.end_object().end_object();
}

}  // namespace

std::string volume_json(const engine::VolumeSpec& spec, const std::string& grant,
                        const Claim& claim, const StorageClass& storage_class,
                        const NodeIdentity& node) {
  JsonWriter json;
  json.begin_object().member("apiVersion", "v1").member("kind", "PersistentVolume");
  write_metadata(json, spec, node);
  json.key("spec").begin_object();
  json.key("capacity").begin_object().member("storage", format_quantity(spec.size)).end_object();
  json.key("accessModes").begin_array();
  for (const std::string& mode : claim.access_modes) json.string(mode);
  json.end_array().member("volumeMode", "Filesystem");
  json.key("claimRef")
      .begin_object()
      .member("apiVersion", "v1")
      .member("kind", "PersistentVolumeClaim");
  json.member("namespace", claim.namespace_name)
      .member("name", claim.name)
      .member("uid", claim.uid)
      .end_object();
  json.member("storageClassName", storage_class.name);
  // The API server fills in Delete when a class names no policy.
  json.member("persistentVolumeReclaimPolicy",
              storage_class.reclaim_policy.empty() ? "Delete" : storage_class.reclaim_policy);
  write_affinity(json, node);
  write_source(json, spec, grant);
  json.end_object().end_object();
  return json.take();
}

std::string volume_growth_patch(const Volume& volume, Bytes size, std::optional<Bytes> granted) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  json.member("resourceVersion", volume.resource_version);
  if (granted) {
    json.key("annotations").begin_object().member(kGranted, format_quantity(*granted));
    json.end_object();
  }
  json.end_object().key("spec").begin_object().key("capacity").begin_object();
  json.member("storage", format_quantity(size)).end_object().end_object().end_object();
  return json.take();
}

std::string patch_without_finalizer(const Volume& volume) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  json.member("resourceVersion", volume.resource_version).key("finalizers").begin_array();
  for (const std::string& finalizer : volume.finalizers)
    if (finalizer != kFinalizer) json.string(finalizer);
  json.end_array().end_object().end_object();
  return json.take();
}

}  // namespace flexlocal::provisioner
