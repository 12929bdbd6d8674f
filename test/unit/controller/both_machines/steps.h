// What can happen next in a small world: each step is one write, one read, or one look.
#pragma once

#include <string>
#include <vector>

#include "test/unit/controller/both_machines/world.h"

namespace flexlocal::provisioner::test {

struct Step {
  World world;            // as it is then
  const char* what;       // for a trace
  unsigned who;           // number of the host or copy that it is about; kNobody: it is neither
  const char* violation;  // nullptr, or what must never happen and did in this step
};
inline constexpr unsigned kNobody = 9;

class Steps {
 public:
  void clear() { found_.clear(); }
  const std::vector<Step>& all() const { return found_; }
  void add(const World& world, const char* what, unsigned who = kNobody,
           const char* violation = nullptr) {
    found_.push_back({world, what, who, violation});
  }

 private:
  std::vector<Step> found_;
};

// The API server takes the request, if its precondition holds, and whoever knew an earlier version
// of the object knows an old one from now on. False: it refused.
bool apply(World& world, const Write& write);
// nullptr, or what is wrong with a request that it takes.
const char* wrong_in(const World& world, const Write& write);
Write write_of(WriteKind kind, unsigned slot, bool holds);
// After a change of the object by somebody.
void touch_copy(World& world, unsigned slot);
void touch_volume(World& world);
void touch_claim(World& world);

// No object, record, disk, request and no one's knowledge is of that slot's copy: the next one has
// another id, and so is as if it were there for the first time.
bool is_free(const World& world, unsigned slot);
// A record or a disk of that copy is on that host.
bool has_of(const HostBits& host, unsigned slot);
void recycle(World& world);

// The agent of a host.
void add_agent_steps(const World& world, unsigned node, const Rules& rules, Steps& steps);
// kubelet, which calls the plugin.
void add_pod_steps(const World& world, Steps& steps);
// What the controller does about the claim, about the PersistentVolume, and about one copy.
void add_claim_steps(const World& world, Steps& steps);
void add_volume_steps(const World& world, Steps& steps);
void add_collector_steps(const World& world, unsigned slot, Steps& steps);
// The scheduler, kube-controller-manager and the claim's owner; what watches bring.
void add_cluster_steps(const World& world, const Rules& rules, Steps& steps);
void add_watch_steps(const World& world, Steps& steps);
// The request that was given up, which arrives.
void add_late_steps(const World& world, Steps& steps);
// Crashes, losses and what people do by force.
void add_fault_steps(const World& world, Steps& steps);

void add_all_steps(const World& world, const Rules& rules, Steps& steps);

}  // namespace flexlocal::provisioner::test
