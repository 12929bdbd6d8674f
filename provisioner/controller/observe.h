// What the stores of Nodes and Leases take in is noted with the time at which it was seen.
#pragma once

#include <string>

#include "provisioner/controller/capacity/node_health.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/node_object.h"

namespace flexlocal::provisioner {

// Before the stores take anything in; they and the clock must outlive the observations' use.
inline void observe(kube::Informer<Node>& nodes, kube::Informer<NodeHeartbeat>& beats,
                    NodeObservations& observations, const Clock& clock) {
  nodes.on_change([&](const std::string& name) {
    const Node* const node = nodes.get(name);
    observations.saw_node(name, node == nullptr ? std::nullopt : std::optional<bool>(node->ready),
                          clock.now());
  });
  beats.on_change([&](const std::string& key) {
    if (const auto node = node_of_heartbeat(key.substr(key.find('/') + 1)))
      observations.saw_lease(*node, beats.get(key), clock.now());
  });
}

}  // namespace flexlocal::provisioner
