// How much memory this node has, as its Node object says: what its budget is in proportion to.
#pragma once

#include <functional>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/accounting/budget.h"
#include "provisioner/kube/informer.h"

namespace flexlocal::provisioner {

// Keeps a budget's memory as the Node object has it. The object is watched, as kubelet watches it:
// memory changes so seldom that asking again and again would be most of what a daemon at rest does.
class NodeMemory {
 public:
  // `changed` is called after each change; it must not wait.
  NodeMemory(kube::ApiClient& api, Log& log, const std::string& node, NodeBudget& budget,
             std::function<void()> changed);

  // Until it is cancelled. What cannot be read, or does not say, leaves things as they are; the
  // former is told.
  kube::Task<void> follow() { return memory_.run(); }

 private:
  void take(const std::string& node);

  Log& log_;
  NodeBudget& budget_;
  std::function<void()> changed_;
  kube::Informer<Bytes> memory_;  // of one Node, or none
};

}  // namespace flexlocal::provisioner
