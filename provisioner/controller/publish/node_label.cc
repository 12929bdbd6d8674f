#include "provisioner/controller/publish/node_label.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {

std::optional<std::string> ready_label(const NodeHealth& health, const NodeHeartbeat* beat,
                                       const std::optional<std::string>& label) {
  // That there was a daemon is remembered: after a restore of etcd its node is waited for.
  if (beat == nullptr) return label && health.is_silent() ? "false" : label;
  return health.daemon_runs() && beat->report.trouble.empty() ? "true" : "false";
}

std::optional<std::string> NodeLabeler::wanted(const Node& node) const {
  const NodeView view = nodes_.view_of(node);
  return ready_label(view.health, view.beat, node.ready_label);
}

bool NodeLabeler::needs_work(const Node& node) const {
  return enabled_ && wanted(node) != node.ready_label;
}

Task<Status> NodeLabeler::work(const std::string& name) {
  const Node* const known = nodes_.get(name);
  if (known == nullptr || !needs_work(*known)) co_return Status();
  const Node node = *known;  // the store may change while we wait
  const auto label = wanted(node);
  const std::string path = node_path(name);
  const std::string body = ready_label_patch(node, label);
  const auto answer = co_await api_.merge_patch(path, body);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!answer) co_return answer.error().context(concat("labelling Node ", name));
  nodes_.put(answer->root());
  log_.info("node labelled", {{"node", name}, {"ready", label.value_or("(none)")}});
  co_return Status();
}

}  // namespace flexlocal::provisioner
