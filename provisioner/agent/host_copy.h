// What this host has of the volume that an order is about: read out of one look at records and
// disks.
#pragma once

#include <cstdint>
#include <string>

#include "flexvolume/engine/engine.h"
#include "provisioner/agent/copy_plan.h"

namespace flexlocal::provisioner {

// `hopeless`: see HostCopy; no look at the disks shows it.
HostCopy host_copy(const engine::Inventory& seen, const engine::NodeConfig& config,
                   const CopyOrder& order, bool hopeless);

// The highest term of a leader of the cluster that the host's records follow an order of; 0: of
// none.
std::int64_t highest_term(const engine::Inventory& seen, const std::string& cluster_id);

// Whether the API server may have been put back to what it was before the host's records were
// written: leaders' terms only rise, and one that took over has read of every host how far they
// have come.
bool is_in_doubt(const CopyOrder& order, const HostCopy& host, const engine::Inventory& seen);

// What the record is to keep of the order.
engine::OrderedCopy ordered_copy(const VolumeCopy& copy, const CopyOrder& order);

}  // namespace flexlocal::provisioner
