// What a node daemon says of itself in its Lease: names and annotations, built and read here only.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/bytes.h"
#include "provisioner/accounting/budget.h"
#include "provisioner/kube/lease.h"
#include "provisioner/objects/copy_roll.h"

namespace flexlocal::provisioner {

// Three writes a node and minute: with thousands of nodes they are most of what an API server at
// rest has to write.
inline constexpr std::chrono::seconds kHeartbeatInterval{20};
// A daemon whose Lease did not change for so long is not running: two beats may be lost.
inline constexpr std::chrono::seconds kHeartbeatDuration{60};

struct PoolFigures {
  Bytes size;
  Bytes free;  // less what is promised and not made yet
  // The largest volume that there is room for, by layout and disks; nullopt: the daemon is of a
  // version that does not say.
  std::optional<Bytes> largest{};
  Bytes unit{};  // volumes have whole multiples of it; 0: it is not told
};
// By the pool's name and the backend's word, "lvm".
using PoolReport = std::map<std::string, std::map<std::string, PoolFigures>>;

struct NodeReport {
  std::string trouble;                   // for a person; empty: volumes can be made here
  PoolReport pools{};                    // those that are to be seen
  std::optional<NodeBudget> budget{};    // nullopt: it says none
  std::map<std::string, Bytes> given{};  // by pool, what its volumes have in all
  // nullopt: it has not looked at its disks yet.
  std::optional<CopyRoll> roll{};
  // Whether the daemon gives its node's orders itself, as --provisioning=distributed says.
  bool orders_itself = false;
};

// The Lease's name for a node, "node-<name>", and the node of a Lease; nullopt: it is another's.
std::string heartbeat_name(std::string_view node);
std::optional<std::string> node_of_heartbeat(std::string_view lease_name);

// Whose Lease it is.
struct HeartbeatOwner {
  std::string node;
  std::string node_uid;  // of the Node with which the Lease is to go
  std::string holder;    // who beats: two hosts that took one Node's name differ in it
};

// The next beat: `lease` as it is to be written.
void write_heartbeat(const HeartbeatOwner& owner, const NodeReport& report, Clock::Wall now,
                     kube::Lease& lease);

// What the cluster role keeps of it.
struct NodeHeartbeat {
  std::string node;
  std::string resource_version{};
  std::optional<Clock::Wall> renewed;
  std::chrono::seconds duration = kHeartbeatDuration;
  std::string version;
  NodeReport report;
};

// nullopt: no node daemon's. Annotations that make no sense read as absent.
std::optional<NodeHeartbeat> decode_heartbeat(JsonView object);

}  // namespace flexlocal::provisioner
