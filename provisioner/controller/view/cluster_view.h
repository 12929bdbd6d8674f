// What a controller sees of the cluster, as the watches brought it, and for which nodes it gives
// the orders.
#pragma once

#include <string>

#include "provisioner/controller/view/copy_index.h"
#include "provisioner/controller/view/node_cache.h"
#include "provisioner/controller/view/unordered_copies.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// For which nodes a controller gives the orders.
enum class Scope {
  kAllNodes,    // but for those whose daemons give their own
  kOneNode,     // its own: the node daemon's
  kAbsentNodes  // each node's daemon gives its own; this is for those that have no Node any more
};

struct ClusterView {
  kube::Informer<Claim>& claims;
  kube::Informer<Volume>& volumes;
  kube::Informer<StorageClass>& classes;
  NodeCache& nodes;
  CopyIndex& copies;
  Scope scope = Scope::kAllNodes;
  std::string own_node{};  // of Scope::kOneNode

  bool is_of_one_node() const { return scope == Scope::kOneNode; }
  // Whether the orders of that node's copies are ours to give.
  bool orders_for(const std::string& node) const;
  // What nodes have and no VolumeCopy names.
  UnorderedCopies unordered() const { return {nodes, copies}; }
};

}  // namespace flexlocal::provisioner
