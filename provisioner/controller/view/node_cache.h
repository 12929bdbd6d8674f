// The Nodes and the Leases of their daemons, as the watches brought them, and for how long each has
// been ready or silent.
#pragma once

#include <string>
#include <utility>

#include "provisioner/controller/capacity/node_health.h"
#include "provisioner/controller/claims/room_summary.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/node_object.h"

namespace flexlocal::provisioner {

using kube::Task;

class NodeCache {
 public:
  // To be made before `nodes` and `beats` take anything in, and to be kept as long as they do.
  // `clock` goes on while the machine sleeps. `lease_namespace`: of the daemons' Leases.
  NodeCache(kube::Informer<Node>& nodes, kube::Informer<NodeHeartbeat>& beats, const Clock& clock,
            std::string lease_namespace);
  NodeCache(const NodeCache&) = delete;
  NodeCache& operator=(const NodeCache&) = delete;

  // See Informer.
  kube::Informer<Node>& nodes() const { return nodes_; }
  kube::Informer<NodeHeartbeat>& beats() const { return beats_; }
  kube::Found<Node> get(const std::string& node) const { return nodes_.get(node); }
  template <typename Visit>
  void for_each(Visit visit) const {
    nodes_.for_each(visit);
  }
  void put(JsonView node) { nodes_.put(node); }

  // nullptr: its daemon has no Lease.
  kube::Found<NodeHeartbeat> beat_of(const std::string& node) const;
  NodeHealth health(const std::string& node) const {
    return observations_.health(node, clock_.now());
  }
  // What is known of a node now; to be used before the next co_await.
  NodeView view_of(const Node& node) const;

  const std::string& lease_namespace() const { return lease_namespace_; }

  // What the API server answered when it was asked: there is no such Node, or no Lease of it; or it
  // has seen no beat either, see NodeHealth::confirmed.
  void saw_no_node(const std::string& node);
  void saw_no_lease(const std::string& node);
  void confirm_silence(const std::string& node);

 private:
  kube::Informer<Node>& nodes_;
  kube::Informer<NodeHeartbeat>& beats_;  // by "namespace/lease name"
  const Clock& clock_;
  std::string lease_namespace_;
  NodeObservations observations_;
};

}  // namespace flexlocal::provisioner
