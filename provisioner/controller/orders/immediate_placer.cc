#include "provisioner/controller/orders/immediate_placer.h"

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/selected_node_plan.h"
#include "provisioner/objects/claim_patch.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// A daemon says what is free with each beat; one may be under way when the volume appears.
constexpr auto kCountedAfter = 2 * kHeartbeatInterval;

}  // namespace

bool ImmediatePlacer::waits(const Claim& claim) const {
  if (!claim.marked || claim.deleting || !claim.volume_name.empty() || !claim.selected_node.empty())
    return false;
  const StorageClass* const known = view_.classes.get(claim.storage_class);
  return known != nullptr && known->immediate;
}

Task<Result<bool>> ImmediatePlacer::place(const Claim& claim) {
  const std::string key = claim.key();
  settle();
  unassign(key);
  const StorageClass* const known = view_.classes.get(claim.storage_class);
  const ClaimPlan plan = plan_claim(claim, known, false, claim.selected_node);
  const auto* const order = std::get_if<Order>(&plan);
  if (known == nullptr || order == nullptr) co_return false;
  const std::string node = choose(claim, *known, *order);
  if (node.empty()) co_return false;
  // Before it is written: other claims are placed meanwhile.
  assigned_.insert_or_assign(key, Assignment{node, promise_of(*order)});
  const std::string path = claim_path(claim);
  const std::string body = patch_with_selected_node(claim, node);
  const auto answer = co_await api_.merge_patch(path, body);
  if (!answer) {
    // Whoever was faster is seen by the watch. Any other answer may be one to what was carried out.
    if (answer.error().code() == ErrorCode::kConflict) assigned_.erase(key);
    if (answer.error().code() == ErrorCode::kNotFound) co_return true;
    co_return answer.error().context("choosing a node for the claim");
  }
  view_.claims.put(answer->root());
  work_.claims_placed.with({}).add();
  log_.info("node chosen for the claim",
            {{"namespace", claim.namespace_name}, {"claim", claim.name}, {"node", node}});
  co_return true;
}

// What is over, and what the daemons' figures count by now.
void ImmediatePlacer::settle() {
  refused_.forget_unless(
      [this](const std::string& claim) { return view_.claims.get(claim) != nullptr; });
  for (auto entry = assigned_.begin(); entry != assigned_.end();)
    entry = is_settled(entry->first, entry->second) ? assigned_.erase(entry) : std::next(entry);
}

bool ImmediatePlacer::is_settled(const std::string& key, Assignment& assignment) const {
  const auto claim = view_.claims.get(key);
  if (claim == nullptr) return true;
  if (view_.volumes.get(volume_of_claim(claim->uid)) == nullptr) return false;
  const auto now = clock_.now();
  if (!assignment.made) assignment.made = now;
  return now - *assignment.made >= kCountedAfter;
}

void ImmediatePlacer::unassign(const std::string& claim) {
  const auto before = assigned_.find(claim);
  if (before == assigned_.end()) return;
  refused_.add(claim, before->second.node);
  assigned_.erase(before);
}

std::string ImmediatePlacer::choose(const Claim& claim, const StorageClass& storage_class,
                                    const Order& order) const {
  const WantedVolume wanted{promise_of(order), order.parameters.disk_per_ram};
  std::map<std::string_view, Bytes> assigned;
  for (const auto& [key, assignment] : assigned_)
    if (assignment.promise.pool == wanted.promise.pool)
      assigned[assignment.node] += assignment.promise.size;
  std::vector<NodeChoice> nodes;
  view_.nodes.for_each([&](const std::string& name, const Node& node) {
    if (refused_.has(claim.key(), name)) return;
    const auto more = assigned.find(name);
    nodes.push_back({view_.nodes.view_of(node), more == assigned.end() ? Bytes() : more->second});
  });
  return choose_node(nodes, storage_class, wanted);
}

}  // namespace flexlocal::provisioner
