#include "provisioner/controller/claims/immediate_plan.h"

#include <algorithm>

namespace flexlocal::provisioner {
namespace {

bool holds(const TopologyTerm& term, const Node& node) {
  return std::all_of(term.begin(), term.end(), [&](const auto& expression) {
    const auto& [key, values] = expression;
    const auto label = node.labels.find(key);
    return label != node.labels.end() &&
           std::find(values.begin(), values.end(), label->second) != values.end();
  });
}

bool allows_hostname(const TopologyTerm& term, const std::string& hostname) {
  const auto names = term.find(std::string(kHostnameLabel));
  return names == term.end() ||
         std::find(names->second.begin(), names->second.end(), hostname) != names->second.end();
}

// What is left there of disks and budget; nullopt: not enough for the volume.
std::optional<Bytes> left_on(const NodeChoice& choice, const WantedVolume& wanted) {
  WantedVolume with_assigned = wanted;
  with_assigned.promise.size += choice.assigned;
  if (no_room_on(choice.view, with_assigned)) return std::nullopt;
  return free_on(choice.view, wanted) - choice.assigned;
}

}  // namespace

bool is_allowed(const StorageClass& storage_class, const Node& node) {
  const auto& terms = storage_class.allowed_topologies;
  return terms.empty() || std::any_of(terms.begin(), terms.end(),
                                      [&](const TopologyTerm& term) { return holds(term, node); });
}

bool is_allowed_hostname(const StorageClass& storage_class, const std::string& hostname) {
  const auto& terms = storage_class.allowed_topologies;
  return terms.empty() || std::any_of(terms.begin(), terms.end(), [&](const TopologyTerm& term) {
           return allows_hostname(term, hostname);
         });
}

std::string choose_node(const std::vector<NodeChoice>& nodes, const StorageClass& storage_class,
                        const WantedVolume& wanted) {
  std::string chosen;
  Bytes most;
  for (const NodeChoice& choice : nodes) {
    const Node& node = choice.view.node;
    if (!is_allowed(storage_class, node)) continue;
    const auto left = left_on(choice, wanted);
    if (!left || (!chosen.empty() && (*left < most || (*left == most && node.name > chosen))))
      continue;
    chosen = node.name;
    most = *left;
  }
  return chosen;
}

}  // namespace flexlocal::provisioner
