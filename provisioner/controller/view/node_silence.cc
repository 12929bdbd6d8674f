#include "provisioner/controller/view/node_silence.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/order_plan.h"

namespace flexlocal::provisioner {
namespace {

// Its node has answered this very order by what is in the way.
bool says_why(const VolumeCopy& copy) {
  return is_answered(copy) &&
         std::ranges::any_of(copy.status.conditions, [](const CopyCondition& condition) {
           return !condition.holds && !condition.message.empty();
         });
}

}  // namespace

std::string silence_of(const NodeCache& nodes, const CopyIndex& index, const VolumeCopy& copy) {
  if (!copy.order || says_why(copy)) return {};
  const auto unanswered = index.unanswered_for(copy);
  const Node* const node = nodes.get(copy.order->node);
  if (!unanswered || *unanswered < kOrderTimeout || node == nullptr) return {};
  const NodeView view = nodes.view_of(*node);
  if (view.beat == nullptr || !view.health.daemon_runs())
    return concat("the node daemon of node ", node->name, " gives no sign of life");
  const std::string& trouble = view.beat->report.trouble;
  return concat("the node daemon of node ", node->name,
                trouble.empty() ? " has not answered yet" : " is not ready: ", trouble);
}

}  // namespace flexlocal::provisioner
