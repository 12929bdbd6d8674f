// The label that says on which nodes volumes can be made and mounted, for pods to select by.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "provisioner/controller/view/node_cache.h"

namespace flexlocal::provisioner {

// What a Node's label should be; nullopt: there should be none.
//   "true": its daemon runs and has no trouble
//   "false": it has trouble, gives no sign of life, or its Lease has been gone for as long as one
//   lasts
// A node that never had a daemon has no label. `beat`: nullptr when
// there is no Lease; `label`: what it is now, which stays while a Lease may have been missed.
std::optional<std::string> ready_label(const NodeHealth& health, const NodeHeartbeat* beat,
                                       const std::optional<std::string>& label);

// Keeps it so; nobody else writes Nodes.
class NodeLabeler {
 public:
  // `enabled`: else nothing is labelled.
  NodeLabeler(kube::ApiClient& api, NodeCache& nodes, Log& log, bool enabled)
      : api_(api), nodes_(nodes), log_(log), enabled_(enabled) {}

  bool needs_work(const Node& node) const;

  // One pass over the Node of that name; to be repeated when it or its Lease changes, and now and
  // then, for silence is no change.
  Task<Status> work(const std::string& name);

 private:
  std::optional<std::string> wanted(const Node& node) const;

  kube::ApiClient& api_;
  NodeCache& nodes_;
  Log& log_;
  bool enabled_;
};

}  // namespace flexlocal::provisioner
