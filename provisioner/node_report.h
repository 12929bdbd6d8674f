// What the node daemon says of itself to the cluster: whether volumes can be made here, and the
// room.
#pragma once

#include "provisioner/heartbeat_record.h"
#include "provisioner/ledger.h"

namespace flexlocal::provisioner {

// How the role's two standing tasks ended the last time.
struct NodeState {
  Status tidied = Error(ErrorCode::kUnavailable, "the disks have not been looked at yet");
  Status granted = Error(ErrorCode::kUnavailable, "the grant key has not been looked at yet");
};

NodeReport report_of(const NodeState& state, const engine::NodeConfig& config, const Ledger& ledger,
                     const NodeBudget& budget);

}  // namespace flexlocal::provisioner
