// What the node daemon says of itself to the cluster: whether volumes can be made here, and the
// room.
#pragma once

#include <optional>

#include "provisioner/agent/ledger.h"
#include "provisioner/objects/heartbeat_record.h"

namespace flexlocal::provisioner {

struct NodeState {
  // How the role's look after the disks ended the last time; nullopt: there was none yet.
  std::optional<Status> tidied{};

  // Whether volumes can be made; nullopt: that is not known yet.
  std::optional<bool> usable() const {
    if (!tidied) return std::nullopt;
    return tidied->ok();
  }
};

NodeReport report_of(const NodeState& state, const engine::NodeConfig& config, const Ledger& ledger,
                     const NodeBudget& budget);

}  // namespace flexlocal::provisioner
