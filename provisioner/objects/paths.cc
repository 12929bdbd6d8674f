#include "provisioner/objects/paths.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/api.h"
#include "provisioner/objects/heartbeat_record.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kCore = "v1";
constexpr std::string_view kStorage = "storage.k8s.io/v1";

}  // namespace

std::string claims_path(const std::string& namespace_name) {
  return kube::object_path(kCore, "persistentvolumeclaims", namespace_name, "");
}

std::string claim_path(const Claim& claim) {
  return kube::object_path(kCore, "persistentvolumeclaims", claim.namespace_name, claim.name);
}

std::string claim_status_path(const Claim& claim) { return concat(claim_path(claim), "/status"); }

std::string volumes_path() { return volume_path({}); }

std::string volume_path(const std::string& name) {
  return kube::object_path(kCore, "persistentvolumes", "", name);
}

std::string classes_path() { return kube::object_path(kStorage, "storageclasses", "", ""); }

std::string nodes_path() { return node_path({}); }

std::string node_path(const std::string& name) {
  return kube::object_path(kCore, "nodes", "", name);
}

std::string pods_path(const std::string& namespace_name) {
  return kube::object_path(kCore, "pods", namespace_name, "");
}

std::string namespace_path(const std::string& name) {
  return kube::object_path(kCore, "namespaces", "", name);
}

std::string daemon_set_path(const std::string& namespace_name, const std::string& name) {
  return kube::object_path("apps/v1", "daemonsets", namespace_name, name);
}

std::string heartbeats_path(const std::string& namespace_name) {
  return kube::object_path("coordination.k8s.io/v1", "leases", namespace_name, "");
}

std::string heartbeat_path(const std::string& namespace_name, const std::string& node) {
  return kube::object_path("coordination.k8s.io/v1", "leases", namespace_name,
                           heartbeat_name(node));
}

std::string copies_path() { return copy_path({}); }

std::string copy_path(const std::string& name) {
  return kube::object_path(kCopyGroupVersion, kCopyResource, "", name);
}

std::string copy_status_path(const std::string& name) { return concat(copy_path(name), "/status"); }

std::string drivers_path() { return kube::object_path(kStorage, "csidrivers", "", ""); }

std::string by_name(std::string_view name) { return concat("metadata.name=", name); }

}  // namespace flexlocal::provisioner
