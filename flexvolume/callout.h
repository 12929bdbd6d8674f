// The calls that kubelet makes, from arguments to answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "flexvolume/base/log.h"
#include "flexvolume/engine/engine.h"
#include "flexvolume/protocol.h"

namespace flexlocal::plugin {

// What a call needs of the node, built only for calls that touch it: `init` may run where there
// is no configuration at all (kube-controller-manager runs it too).
class Node {
 public:
  virtual ~Node() = default;
  // kNotFound or kInvalid when node.conf cannot be used.
  virtual Result<engine::Engine*> engine() = 0;
  // The same for unmount, which needs nothing of node.conf: where that cannot be used, an engine
  // that knows no pools. A typing error there must not keep a pod from its end.
  virtual engine::Engine& engine_for_unmount() = 0;
  // For the node daemon: that `init` of this program was called. Needs no configuration.
  virtual Status leave_init_mark() = 0;
};

// `arguments` without the program's name. Never throws, always answers; one log line a call that
// did something or failed.
Answer call_out(const std::vector<std::string>& arguments, Node& node, Log& log);

}  // namespace flexlocal::plugin
