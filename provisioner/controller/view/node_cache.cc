#include "provisioner/controller/view/node_cache.h"

#include <optional>

namespace flexlocal::provisioner {

// What the stores take in is noted with the time at which it was seen.
NodeCache::NodeCache(kube::Informer<Node>& nodes, kube::Informer<NodeHeartbeat>& beats,
                     const Clock& clock, std::string lease_namespace)
    : nodes_(nodes), beats_(beats), clock_(clock), lease_namespace_(std::move(lease_namespace)) {
  nodes.on_change([this](const std::string& name) {
    const auto node = nodes_.get(name);
    observations_.saw_node(name, node == nullptr ? std::nullopt : std::optional<bool>(node->ready),
                           clock_.now());
  });
  beats.on_change([this](const std::string& key) {
    if (const auto node = node_of_heartbeat(key.substr(key.find('/') + 1)))
      observations_.saw_lease(*node, beats_.get(key), clock_.now());
  });
}

kube::Found<NodeHeartbeat> NodeCache::beat_of(const std::string& node) const {
  return beats_.get(lease_namespace_ + '/' + heartbeat_name(node));
}

NodeView NodeCache::view_of(const Node& node) const {
  return {node, health(node.name), beat_of(node.name)};
}

void NodeCache::saw_no_node(const std::string& node) {
  observations_.saw_node(node, std::nullopt, clock_.now());
}

void NodeCache::saw_no_lease(const std::string& node) {
  observations_.saw_lease(node, nullptr, clock_.now());
}

void NodeCache::confirm_silence(const std::string& node) {
  observations_.confirm_silence(node, clock_.now());
}

}  // namespace flexlocal::provisioner
