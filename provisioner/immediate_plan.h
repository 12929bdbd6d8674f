// On which node the volume of a claim with volumeBindingMode Immediate is made: a pure decision of
// the cluster role. Nobody knows yet where its pod will run, or whether there will be one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "provisioner/objects.h"
#include "provisioner/room_summary.h"

namespace flexlocal::provisioner {

// Who does.
enum class ImmediateBinding {
  kCentral,  // the cluster role
  kOff       // nobody: such claims stay pending, and are told why
};

// One node, and what was assigned to it that its daemon's figures do not count yet, of the pool
// that is asked for.
struct NodeChoice {
  NodeView view;
  Bytes assigned;
};

// Whether the class lets its volumes be there: one of its allowedTopologies holds for the node's
// labels, or it has none.
bool is_allowed(const StorageClass& storage_class, const Node& node);

// The node with most left, by its disks and its RAM budget, beside what is assigned; of equal ones
// the first by name. Empty: none has room.
std::string choose_node(const std::vector<NodeChoice>& nodes, const StorageClass& storage_class,
                        const WantedVolume& wanted);

}  // namespace flexlocal::provisioner
