#include "provisioner/controller/orders/node_chooser.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
std::optional<std::string> NodeChooser::objection_to(const Claim& claim, const Order& order,
                                                     const Node& node) const {
  const StorageClass* const storage_class = view_.classes.get(claim.storage_class);
  if (storage_class != nullptr && !is_allowed(*storage_class, node))
    return concat("StorageClass ", storage_class->name, " does not allow node ", node.name,
                  " (allowedTopologies)");
  if (view_.copies.has_open_withdrawal(node.name))
    return concat("node ", node.name, " has not said yet that an order that was withdrawn is gone");
  const NodeView view = view_.nodes.view_of(node);
  if (!view_.orders_for(node.name))
    return concat("the node daemon of node ", node.name,
                  " gives its node's orders itself (--provisioning=distributed)");
  if (view.beat != nullptr && view.beat->report.trouble.empty() && !view.carries_out())
    return concat("the node daemon of node ", node.name,
                  " carries out no orders: it is of an earlier version");
  const WantedVolume wanted{promise_of(order), order.parameters.disk_per_ram};
  const auto why = shortage_on(view, wanted, uncounted(view, order.parameters.pool));
  if (!why) return std::nullopt;
  return concat("no room on node ", node.name, ": ", *why);
}

std::string NodeChooser::choose(const Claim& claim, const std::string& volume,
                                const WantedVolume& wanted) const {
  const StorageClass* const storage_class = view_.classes.get(claim.storage_class);
  if (storage_class == nullptr) return {};
  std::vector<NodeChoice> nodes;
  view_.nodes.for_each([&](const std::string& name, const Node& node) {
    const NodeView view = view_.nodes.view_of(node);
    if (!view.carries_out() || !view_.orders_for(name) || refused_.has(claim.key(), name) ||
        view_.copies.has_open_withdrawal(name))
      return;
    if (view_.copies.has_left_of(volume, name)) return;
    nodes.push_back({view, uncounted(view, wanted.promise.pool)});
  });
  return choose_node(nodes, *storage_class, wanted);
}

void NodeChooser::forget(const std::string& claim) {
  refused_.forget(claim);
  std::erase_if(hidden_for_, [&](const auto& entry) { return entry.first.first == claim; });
}

void NodeChooser::hide_room(const Claim& claim, const Order& asked, const Node& node) {
  if (claim.selected_node.empty() || objection_to(claim, asked, node)) return;
  const auto now = clock_.now();
  const auto [last, is_first] = hidden_for_.try_emplace({claim.key(), node.name}, now);
  if (!is_first && now - last->second < kHideInterval) return;
  last->second = now;
  std::erase_if(hidden_, [this](const auto& entry) { return !is_recent(entry.second); });
  const bool begins = hidden_.try_emplace({node.name, claim.storage_class}, now).second;
  if (begins && on_hidden_) on_hidden_(node.name);
}

bool NodeChooser::hides_room(const std::string& node, const std::string& storage_class) const {
  const auto hidden = hidden_.find({node, storage_class});
  return hidden != hidden_.end() && is_recent(hidden->second);
}

// The watch may have brought an order before its answer came.
Bytes NodeChooser::uncounted(const NodeView& node, const std::string& pool) const {
  Bytes sum = view_.copies.uncounted(node, pool);
  for (const CopyOrder& order : under_way_.all()) {
    const engine::VolumeSpec& spec = order.volume;
    const bool counts = order.node == node.node.name && spec.pool == pool &&
                        view_.copies.find(spec.name.text(), spec.copy) == nullptr;
    if (counts) sum += spec.size;
  }
  return sum;
}

}  // namespace flexlocal::provisioner
