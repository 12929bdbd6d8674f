#include "provisioner/controller/orders/node_assigner.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// Of a daemon that may just be starting.
constexpr auto kSoon = std::chrono::seconds(1);

// What passes by itself, or is looked after by SelectedNodeWorker.
bool is_to_be_waited_for(NoRoom reason) {
  return reason == NoRoom::kNodeUnready || reason == NoRoom::kNoDaemon;
}

}  // namespace

Task<Result<NodeAssigner::Assignment>> NodeAssigner::assign(const Claim& claim, const Order& order,
                                                            const Order& claimed) {
  Assignment assigned;
  const std::string name =
      claim.selected_node.empty() ? chooser_.choose(claim, order) : claim.selected_node;
  if (name.empty()) {
    no_room_.report(claim);
    co_return assigned;
  }
  const Node* const node = view_.nodes.get(name);
  const auto reason = node == nullptr
                          ? std::optional(NoRoom::kNoDaemon)
                          : no_room_on(view_.nodes.view_of(*node),
                                       {promise_of(order), order.parameters.disk_per_ram});
  if (reason && is_to_be_waited_for(*reason)) {
    Status looked;
    if (claim.marked) looked = co_await selected_.check(claim);
    if (!looked) co_return looked.error();
    assigned.requeue = kSoon;
    co_return assigned;
  }
  if (const auto why = chooser_.objection_to(claim, order, *node)) {
    if (order.requested > claimed.requested) chooser_.hide_room(claim, claimed, *node);
    auto refused = co_await refuse(claim, name, *why);
    if (!refused) co_return refused.error();
    co_return assigned;
  }
  assigned.node = node;
  co_return assigned;
}

Task<Status> NodeAssigner::refuse(const Claim& claim, const std::string& node,
                                  const std::string& why) {
  chooser_.refused(claim, node);
  // By the mark the policies know it for ours; that it comes is a change of the claim.
  if (claim.selected_node == node && !claim.marked) co_return Status();
  report_.count_failed(claim);
  if (claim.selected_node == node) {
    auto taken = co_await selected_.unassign(claim, why);
    co_return taken;
  }
  report_.record(claim, kube::EventType::kWarning, "ProvisioningFailed",
                 concat(why, "; another node is looked for"));
  co_return Status();
}

// No scheduler chooses a node where none has room.
void NodeAssigner::report_no_room(const Claim& claim) {
  if (waits_for_node(claim)) no_room_.report(claim);
}

bool NodeAssigner::waits_for_node(const Claim& claim) const {
  return claim.selected_node.empty() &&
         view_.copies.of_volume(volume_of_claim(claim.uid)).empty() &&
         view_.volumes.get(volume_of_claim(claim.uid)) == nullptr;
}

void NodeAssigner::forget(const std::string& claim) {
  chooser_.forget(claim);
  no_room_.forget(claim);
}

}  // namespace flexlocal::provisioner
