// Nodes, as far as they are looked at, and what is written to them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/json.h"
#include "provisioner/kube/event_correlator.h"

namespace flexlocal::provisioner {

// On a Node: "true" where volumes can be made and mounted.
inline constexpr std::string_view kReadyLabel = "flexlocal.io/ready";

struct NodeIdentity {
  std::string name;      // of the Node object
  std::string hostname;  // its label kubernetes.io/hostname, which affinity goes by
  std::string uid{};     // of the Node object: another one is another node of the same name
};

struct Node {
  std::string name;
  bool ready = false;     // its condition Ready is True
  bool cordoned = false;  // spec.unschedulable
  std::string uid{};
  std::optional<std::string> ready_label{};  // kReadyLabel
  std::map<std::string, std::string> labels{};
};

// nullopt when it has no name.
std::optional<Node> decode_node(JsonView object);

// Of a Node's object. Without its label its hostname is empty.
NodeIdentity identity_of(JsonView node);
NodeIdentity identity_of(const Node& node);
// Its status.capacity.memory; nullopt: it has none that is a quantity.
std::optional<Bytes> memory_of(JsonView node);

// For events on the Node.
kube::ObjectReference reference_to(const NodeIdentity& node);

// The merge patch that sets kReadyLabel, or takes it away. Of this very Node: one that was made
// anew under the name has its own daemon to wait for.
std::string ready_label_patch(const Node& node, const std::optional<std::string>& label);

}  // namespace flexlocal::provisioner
