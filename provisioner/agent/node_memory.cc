#include "provisioner/agent/node_memory.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/node_object.h"
#include "provisioner/objects/paths.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {
namespace {

std::string in_words(const std::optional<Bytes>& memory) {
  return memory ? to_string(*memory) : std::string("not known");
}

}  // namespace

kube::Task<void> NodeMemory::follow(std::chrono::nanoseconds interval) {
  LastingTrouble trouble;
  for (;;) {
    if (auto slept = co_await kube::sleep_for(interval); !slept) co_return;
    const auto refreshed = co_await refresh();
    trouble.look(refreshed, log_, "the Node object cannot be read: its memory may have changed");
  }
}

// Any version will do: the API server answers from its cache, without asking etcd.
kube::Task<Status> NodeMemory::refresh() {
  const std::string path = cached_node_path(node_);
  const auto object = co_await api_.get(path);
  if (!object) co_return object.error();
  const auto memory = memory_of(object->root());
  // A Node that was made anew says nothing until kubelet has written it.
  if (memory && memory != budget_.memory) {
    log_.info("the node's memory has changed, and its budget with it",
              {{"node", node_}, {"from", in_words(budget_.memory)}, {"to", to_string(*memory)}});
    budget_.memory = memory;
  }
  co_return Status();
}

}  // namespace flexlocal::provisioner
