// On which node the volume of a claim with volumeBindingMode Immediate is made: a pure decision.
// Nobody knows yet where its pod will run, or whether there will be one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "provisioner/controller/claims/room_summary.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// Who does.
enum class ImmediateBinding {
  kCentral,  // the cluster role
  kRank,     // the nodes among themselves, see immediate_rank.h
  kOff       // the cluster role: nobody, such claims are told why; a node: not this one
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
// Whether it may let them be on a node of which only this label is known: false when each of its
// terms asks for another hostname.
bool is_allowed_hostname(const StorageClass& storage_class, const std::string& hostname);

// The node with most left, by its disks and its RAM budget, beside what is assigned; of equal ones
// the first by name. Empty: none has room.
std::string choose_node(const std::vector<NodeChoice>& nodes, const StorageClass& storage_class,
                        const WantedVolume& wanted);

}  // namespace flexlocal::provisioner
