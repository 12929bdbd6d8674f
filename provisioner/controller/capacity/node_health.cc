#include "provisioner/controller/capacity/node_health.h"

namespace flexlocal::provisioner {

NodeObservations::Seen& NodeObservations::entry(const std::string& node, Instant now) {
  const auto [found, is_new] = seen_.try_emplace(node);
  if (is_new) found->second.unready_since = found->second.lease_changed = now;
  return found->second;
}

void NodeObservations::forget_absent(const std::string& node) {
  const auto found = seen_.find(node);
  if (found != seen_.end() && !found->second.exists && !found->second.beat) seen_.erase(found);
}

void NodeObservations::saw_node(const std::string& node, std::optional<bool> ready, Instant now) {
  Seen& seen = entry(node, now);
  // A node that comes (back) gets the whole time for its daemon to come, too.
  if (ready && !seen.exists && !seen.beat) changed(seen, now);
  seen.exists = ready.has_value();
  const bool is_ready = ready.value_or(false);
  if (seen.ready && !is_ready) seen.unready_since = now;
  seen.ready = is_ready;
  forget_absent(node);
}

void NodeObservations::saw_lease(const std::string& node, const NodeHeartbeat* beat, Instant now) {
  Seen& seen = entry(node, now);
  const bool same =
      beat != nullptr ? seen.beat && seen.beat->renewed == beat->renewed : !seen.beat.has_value();
  if (!same) changed(seen, now);
  seen.beat = beat != nullptr ? std::optional<NodeHeartbeat>(*beat) : std::nullopt;
  forget_absent(node);
}

void NodeObservations::changed(Seen& seen, Instant now) {
  seen.lease_changed = now;
  seen.confirmed = false;
}

void NodeObservations::confirm_silence(const std::string& node, Instant now) {
  if (health(node, now).seems_silent()) seen_.at(node).confirmed = true;
}

NodeHealth NodeObservations::health(const std::string& node, Instant now) const {
  NodeHealth health;
  const auto found = seen_.find(node);
  if (found == seen_.end()) return health;
  const Seen& seen = found->second;
  health.exists = seen.exists;
  if (!seen.ready) health.unready_for = now - seen.unready_since;
  health.has_lease = seen.beat.has_value();
  health.silent_for = now - seen.lease_changed;
  if (seen.beat) health.patience = seen.beat->duration;
  health.confirmed = seen.confirmed;
  return health;
}

}  // namespace flexlocal::provisioner
