#include "provisioner/controller/claims/selected_node_plan.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

std::string seconds_of(std::chrono::nanoseconds time) {
  return concat(std::chrono::duration_cast<std::chrono::seconds>(time).count(), " s");
}

}  // namespace

bool waits_for_node(const Claim& claim, bool volume_exists) {
  return !claim.deleting && claim.volume_name.empty() && !claim.selected_node.empty() &&
         !volume_exists;
}

std::optional<std::string> objection_to_node(const std::string& node, const NodeHealth& health,
                                             std::chrono::nanoseconds node_lost_after) {
  if (!health.exists) return concat("node ", node, " is gone");
  if (health.unready_for && *health.unready_for >= node_lost_after)
    return concat("node ", node, " has not been Ready for ", seconds_of(*health.unready_for));
  // A Lease that is missing may just not be there yet.
  if (!health.is_silent()) return std::nullopt;
  if (!health.has_lease)
    return concat("no flexlocal daemon runs on node ", node, ": there is no Lease ",
                  heartbeat_name(node));
  return concat("the flexlocal daemon of node ", node, " has given no sign of life for ",
                seconds_of(health.silent_for));
}

}  // namespace flexlocal::provisioner
