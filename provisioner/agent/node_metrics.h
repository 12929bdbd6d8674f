// What a node daemon shows of itself and of its node's pools, and whether it can do its work.
#pragma once

#include <string>

#include "provisioner/agent/node_parts.h"
#include "provisioner/kube/metrics.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

// The lists are complete, the last look at the disks succeeded, and kubelet uses the plugin (see
// KubeletInit). Else kUnavailable, in words, or what was wrong with the disks.
Status node_readiness(const NodeParts& parts);

// All metrics of the node role. Pools are shown as the last look at the disks had them;
// `host_counts` is the folder of what the plugin counts. All arguments must outlive `metrics`.
void show_node(kube::Metrics& metrics, const NodeParts& parts, const kube::WorkQueue& queue,
               const engine::NodeConfig& config, const std::string& host_counts);

}  // namespace flexlocal::provisioner
