#include "provisioner/objects/driver_object.h"

#include <vector>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::provisioner {
namespace {

// What kubelet does for a volume whose driver answers init with fsGroup: true.
constexpr std::string_view kFsGroupPolicy = "File";

std::string mode_list(JsonView modes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < modes.size(); ++i) names.push_back(printable(modes.at(i).text(), 40));
  return join(names, ", ");
}

// An API server that does not know a field drops it.
std::string difference_of(JsonView driver) {
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
  return join(found, ", ");
}

// For events.
kube::ObjectReference reference_to(JsonView driver) {
  const JsonView meta = driver["metadata"];
  return {.kind = "CSIDriver",
          .namespace_name = {},
          .name = std::string(meta["name"].text()),
          .uid = std::string(meta["uid"].text()),
          .api_version = "storage.k8s.io/v1",
          .resource_version = std::string(meta["resourceVersion"].text())};
}

}  // namespace

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

RegisteredDriver decode_driver(JsonView driver) {
  return {difference_of(driver), reference_to(driver)};
}

}  // namespace flexlocal::provisioner
