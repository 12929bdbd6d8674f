#include "provisioner/controller/view/silence_check.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/complete_list.h"
#include "provisioner/objects/paths.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

Task<void> SilenceCheck::run() {
  LastingTrouble trouble;
  Status waited = co_await nodes_.beats().wait_synced();
  if (waited) waited = co_await nodes_.nodes().wait_synced();
  while (waited) {
    const Status looked = co_await look();
    trouble.look(looked, log_, "nodes that seem silent are not taken for silent");
    waited = co_await kube::sleep_for(interval_);
  }
}

// A Lease that is newer than the store's is noted as a beat by whoever follows the store.
Task<Status> SilenceCheck::look() {
  const std::vector<std::string> nodes = seem_silent();
  if (nodes.empty()) co_return Status();
  const std::string path = heartbeats_path(nodes_.lease_namespace());
  kube::Query selectors;
  if (nodes.size() == 1) selectors.add("fieldSelector", by_name(heartbeat_name(nodes.front())));
  const Visit visit = [this](JsonView lease) -> Status {
    nodes_.beats().put(lease);
    return {};
  };
  const Status listed = co_await visit_all(api_, path, selectors, visit);
  if (!listed) co_return listed.error().context("reading the nodes' Leases");
  std::size_t alive = 0;
  for (const std::string& node : nodes) {
    nodes_.confirm_silence(node);
    if (!nodes_.health(node).is_silent()) ++alive;
  }
  if (alive > 0)
    log_.warning("the watch of the nodes' Leases is behind: nodes that seemed silent are not",
                 {{"nodes", concat(alive)}, {"silent", concat(nodes.size() - alive)}});
  co_return Status();
}

std::vector<std::string> SilenceCheck::seem_silent() const {
  std::vector<std::string> nodes;
  nodes_.for_each([&](const std::string& name, const Node&) {
    if (nodes_.health(name).seems_silent()) nodes.push_back(name);
  });
  return nodes;
}

}  // namespace flexlocal::provisioner
