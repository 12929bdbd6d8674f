#include "provisioner/objects/node_object.h"

#include "provisioner/objects/objects.h"

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

NodeIdentity identity_of(JsonView node) {
  const JsonView meta = node["metadata"];
  return {.name = std::string(meta["name"].text()),
          .hostname = std::string(meta["labels"][kHostnameLabel].text()),
          .uid = std::string(meta["uid"].text())};
}

NodeIdentity identity_of(const Node& node) {
  const auto hostname = node.labels.find(std::string(kHostnameLabel));
  return {node.name, hostname == node.labels.end() ? std::string() : hostname->second, node.uid};
}

std::optional<Bytes> memory_of(JsonView node) {
  const auto memory = parse_quantity(node["status"]["capacity"]["memory"].text());
  return memory ? std::optional(*memory) : std::nullopt;
}

kube::ObjectReference reference_to(const NodeIdentity& node) {
  return {.kind = "Node",
          .namespace_name = {},
          .name = node.name,
          .uid = node.uid,
          .api_version = "v1",
          .resource_version = {}};
}

std::string ready_label_patch(const Node& node, const std::optional<std::string>& label) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  if (!node.uid.empty()) json.member("uid", node.uid);
  json.key("labels").begin_object().key(kReadyLabel);
  if (label)
    json.string(*label);
  else
    json.null();
  json.end_object().end_object().end_object();
  return json.take();
}

}  // namespace flexlocal::provisioner
