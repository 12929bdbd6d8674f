// How much memory this node has, as its Node object says: what its budget is in proportion to.
#pragma once

#include <chrono>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/accounting/budget.h"
#include "provisioner/kube/api.h"

namespace flexlocal::provisioner {

// Keeps a budget's memory as the Node object has it. It is asked for, not watched: memory changes
// with a reboot of the node, and kubelet writes the object every few minutes whether it does or
// not.
class NodeMemory {
 public:
  NodeMemory(kube::ApiClient& api, Log& log, std::string node, NodeBudget& budget)
      : api_(api), log_(log), node_(std::move(node)), budget_(budget) {}

  // Asks each time that `interval` has passed, until it is cancelled. What cannot be read,
  // or does not say, leaves things as they are; the former is told once.
  kube::Task<void> follow(std::chrono::nanoseconds interval);

 private:
  kube::Task<Status> refresh();

  kube::ApiClient& api_;
  Log& log_;
  std::string node_;
  NodeBudget& budget_;
};

}  // namespace flexlocal::provisioner
