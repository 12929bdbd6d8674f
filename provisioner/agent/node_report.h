// What the node daemon says of itself to the cluster: whether volumes can be made here, and the
// room.
#pragma once

#include <optional>

#include "provisioner/agent/ledger.h"
#include "provisioner/objects/heartbeat_record.h"

namespace flexlocal::provisioner {

// How the role's two standing tasks ended the last time; nullopt: they have not been at it yet.
struct NodeState {
  std::optional<Status> tidied{};   // the disks
  std::optional<Status> granted{};  // the grant key

  // Whether volumes can be made; nullopt: that is not known yet.
  std::optional<bool> usable() const {
    if (!tidied || !granted) return std::nullopt;
    return tidied->ok() && granted->ok();
  }
};

NodeReport report_of(const NodeState& state, const engine::NodeConfig& config, const Ledger& ledger,
                     const NodeBudget& budget);

}  // namespace flexlocal::provisioner
