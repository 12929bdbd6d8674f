#include "provisioner/cluster_objects.h"

#include "provisioner/grant_secret.h"
#include "provisioner/kube/base64.h"
#include "provisioner/node_label.h"

namespace flexlocal::provisioner {

std::optional<Node> decode_node(JsonView object) {
  Node node;
  node.name = object["metadata"]["name"].text();
  if (node.name.empty()) return std::nullopt;
  const JsonView conditions = object["status"]["conditions"];
  for (std::size_t i = 0; i < conditions.size(); ++i)
    if (conditions.at(i)["type"].text() == "Ready")
      node.ready = conditions.at(i)["status"].text() == "True";
  node.cordoned = object["spec"]["unschedulable"].boolean().value_or(false);
  node.uid = object["metadata"]["uid"].text();
  if (const auto label = object["metadata"]["labels"][kReadyLabel].string())
    node.ready_label = *label;
  node.labels = object["metadata"]["labels"].string_map();
  return node;
}

GrantSecret decode_grant_secret(JsonView object) {
  const JsonView meta = object["metadata"];
  const JsonView annotations = meta["annotations"];
  GrantSecret secret;
  secret.uid = meta["uid"].text();
  secret.resource_version = meta["resourceVersion"].text();
  secret.rotation_asked = annotations[kRotateAnnotation].text();
  secret.rotation_done = annotations[kRotatedAnnotation].text();
  const auto encoded = object["data"][kGrantSecretKey].string();
  if (!encoded) return secret;
  auto decoded = kube::decode_base64(*encoded);
  // What the API server has is base64; if it is not, it is no key either.
  secret.keys = decoded ? std::move(*decoded) : std::string();
  return secret;
}

}  // namespace flexlocal::provisioner
