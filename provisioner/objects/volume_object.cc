#include "provisioner/objects/volume_object.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// No annotation of others: by volume.alpha.kubernetes.io/pre-resize-capacity a claim that is bound
// anew would be told that it has an old size (updateClaimStatus in
// pkg/controller/volume/persistentvolume).
void write_metadata(JsonWriter& json, const CopyOrder& order) {
  json.key("metadata").begin_object().member("name", order.volume.name.text());
  json.key("labels").begin_object().member(kNodeLabel, order.node).end_object();
  json.key("annotations").begin_object().member(kProvisionedBy, engine::kProvisioner);
  json.member(kNodeUid, order.node_uid).member(kOrder, order_text(order)).end_object();
  json.key("finalizers").begin_array().string(kFinalizer).end_array().end_object();
}

void write_claim(JsonWriter& json, const CopyOrder& order) {
  json.key("claimRef").begin_object().member("apiVersion", "v1");
  json.member("kind", "PersistentVolumeClaim");
  json.member("namespace", order.volume.claim_namespace).member("name", order.claim_name);
  json.member("uid", order.claim_uid).end_object();
}

void write_affinity(JsonWriter& json, const std::string& hostname) {
  json.key("nodeAffinity").begin_object().key("required").begin_object();
  json.key("nodeSelectorTerms").begin_array().begin_object().key("matchExpressions").begin_array();
  json.begin_object().member("key", kHostnameLabel).member("operator", "In");
  json.key("values").begin_array().string(hostname).end_array().end_object();
  json.end_array().end_object().end_array().end_object().end_object();
}

void write_source(JsonWriter& json, const engine::VolumeSpec& volume) {
  json.key("flexVolume").begin_object().member("driver", engine::kDriver);
  json.member("fsType", engine::to_string(volume.fs_type)).key("options").begin_object();
  json.member(engine::kCopyOption, volume.copy).end_object().end_object();
}

// Takes these away, and leaves others'.
std::string finalizers_patch(const Volume& volume, std::initializer_list<std::string_view> ours) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  json.member("resourceVersion", volume.resource_version).key("finalizers").begin_array();
  for (const std::string& finalizer : volume.finalizers)
    if (std::ranges::find(ours, finalizer) == ours.end()) json.string(finalizer);
  json.end_array().end_object().end_object();
  return json.take();
}

}  // namespace

std::string volume_of_claim(const std::string& uid) { return concat("pvc-", uid); }

std::string volume_json(const CopyOrder& order, const std::vector<std::string>& access_modes) {
  JsonWriter json;
  json.begin_object().member("apiVersion", "v1").member("kind", "PersistentVolume");
  write_metadata(json, order);
  json.key("spec").begin_object().key("capacity").begin_object();
  json.member("storage", format_quantity(order.volume.size)).end_object();
  json.key("accessModes").begin_array();
  for (const std::string& mode : access_modes) json.string(mode);
  json.end_array().member("volumeMode", "Filesystem");
  write_claim(json, order);
  json.member("storageClassName", order.storage_class);
  json.member("persistentVolumeReclaimPolicy", order.reclaim_policy);
  write_affinity(json, order.hostname);
  write_source(json, order.volume);
  json.end_object().end_object();
  return json.take();
}

std::string volume_growth_patch(const Volume& volume, Bytes size) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  json.member("resourceVersion", volume.resource_version);
  json.end_object().key("spec").begin_object().key("capacity").begin_object();
  json.member("storage", format_quantity(size)).end_object().end_object().end_object();
  return json.take();
}

std::string patch_without_finalizer(const Volume& volume) {
  return finalizers_patch(volume, {kFinalizer});
}

std::string patch_without_protection(const Volume& volume) {
  return finalizers_patch(volume, {kFinalizer, kVolumeProtection});
}

}  // namespace flexlocal::provisioner
