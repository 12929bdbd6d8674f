#include "provisioner/agent/node_memory.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/node_object.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

std::string in_words(const std::optional<Bytes>& memory) {
  return memory ? to_string(*memory) : std::string("not known");
}

kube::ResourceKind one_node(const std::string& name) {
  return {"nodes", nodes_path(), {}, by_name(name), {}};
}

}  // namespace

// Any version will do: the API server answers from its cache, without asking etcd.
NodeMemory::NodeMemory(kube::ApiClient& api, Log& log, const std::string& node, NodeBudget& budget,
                       std::function<void()> changed)
    : log_(log),
      budget_(budget),
      changed_(std::move(changed)),
      memory_(api, log, one_node(node), memory_of, {.first = kube::FirstList::kFromCache}) {
  memory_.on_change([this](const std::string& name) { take(name); });
}

void NodeMemory::take(const std::string& node) {
  const auto memory = memory_.get(node);
  // A Node that was made anew says nothing, or 0, until kubelet has written it.
  if (memory == nullptr || *memory == Bytes(0) || *memory == budget_.memory) return;
  log_.info("the node's memory has changed, and its budget with it",
            {{"node", node}, {"from", in_words(budget_.memory)}, {"to", to_string(*memory)}});
  budget_.memory = *memory;
  changed_();
}

}  // namespace flexlocal::provisioner
