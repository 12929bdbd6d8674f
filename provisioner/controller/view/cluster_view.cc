#include "provisioner/controller/view/cluster_view.h"

namespace flexlocal::provisioner {

bool ClusterView::orders_for(const std::string& node) const {
  switch (scope) {
    case Scope::kOneNode:
      return node == own_node;
    case Scope::kAbsentNodes:
      return nodes.get(node) == nullptr;
    case Scope::kAllNodes:
      break;
  }
  const NodeHeartbeat* const beat = nodes.beat_of(node);
  return beat == nullptr || !beat->report.orders_itself;
}

}  // namespace flexlocal::provisioner
