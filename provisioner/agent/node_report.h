// What the node daemon says of itself to the cluster: whether volumes can be made and mounted here,
// and the room.
#pragma once

#include <optional>

#include "provisioner/agent/ledger.h"
#include "provisioner/objects/heartbeat_record.h"

namespace flexlocal::provisioner {

struct NodeState {
  // How the role's look after the disks ended the last time; nullopt: there was none yet.
  std::optional<Status> tidied{};
  // What KubeletInit::look() said at the last report.
  Status kubelet{};

  // Whether volumes can be made and mounted; nullopt: that is not known yet.
  std::optional<bool> usable() const {
    if (!tidied) return std::nullopt;
    return tidied->ok() && kubelet.ok();
  }
};

NodeReport report_of(const NodeState& state, const engine::NodeConfig& config, const Ledger& ledger,
                     const NodeBudget& budget);

}  // namespace flexlocal::provisioner
