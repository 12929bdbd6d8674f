#include "provisioner/controller/orders/selected_node_worker.h"

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/selected_node_plan.h"
#include "provisioner/objects/claim_patch.h"
#include "provisioner/objects/names.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

bool is_missing(const Error& error) { return error.code() == ErrorCode::kNotFound; }

}  // namespace

Task<Status> SelectedNodeWorker::check(const Claim& claim) {
  const std::string& node = claim.selected_node;
  // Anyone who may write a claim may write anything there.
  if (!is_dns_subdomain(node)) {
    const std::string why = concat("node ", printable(node, 80), " is gone");
    auto unassigned = co_await unassign(claim, why);
    co_return unassigned;
  }
  if (const auto why = objection_to_way(node)) {
    auto unassigned = co_await unassign(claim, *why);
    co_return unassigned;
  }
  auto health = view_.nodes.health(node);
  // What the informers have may be old: they could have been cut off without noticing.
  health.confirmed = true;
  if (!objection_to_node(node, health, lost_after_)) co_return Status();
  auto refreshed = co_await refresh(node);
  if (!refreshed) co_return refreshed;
  health = view_.nodes.health(node);
  const auto why = objection_to_node(node, health, lost_after_);
  if (!why) co_return Status();
  auto unassigned = co_await unassign(claim, *why);
  co_return unassigned;
}

// Where each node's daemon gives its own orders, one that waits for them gets none.
std::optional<std::string> SelectedNodeWorker::objection_to_way(const std::string& name) const {
  const Node* const node = view_.nodes.get(name);
  if (view_.scope != Scope::kAbsentNodes || node == nullptr) return std::nullopt;
  const NodeView view = view_.nodes.view_of(*node);
  if (!view.carries_out() || view.orders_itself()) return std::nullopt;
  return concat("the node daemon of node ", name,
                " waits for the orders of a leader (--provisioning=central), and there is none");
}

// The informers' handlers tell the observations what changed.
Task<Status> SelectedNodeWorker::refresh(const std::string& node) {
  const std::string path_of_node = node_path(node);
  const auto object = co_await api_.get(path_of_node);
  if (!object && !is_missing(object.error())) co_return object.error();
  if (!object) {
    view_.nodes.saw_no_node(node);
    co_return Status();
  }
  view_.nodes.put(object->root());
  const std::string lease_path = heartbeat_path(view_.nodes.lease_namespace(), node);
  const auto lease = co_await api_.get(lease_path);
  if (!lease && !is_missing(lease.error())) co_return lease.error();
  if (lease)
    view_.nodes.beats().put(lease->root());
  else
    view_.nodes.saw_no_lease(node);
  view_.nodes.confirm_silence(node);
  co_return Status();
}

Task<Status> SelectedNodeWorker::unassign(const Claim& claim, const std::string& why) {
  const std::string path = claim_path(claim);
  const std::string body = patch_without_selected_node(claim);
  const auto answer = co_await api_.merge_patch(path, body);
  if (!answer && is_missing(answer.error())) co_return Status();
  if (!answer) co_return answer.error().context("handing the claim back");
  view_.claims.put(answer->root());
  work_.claims_handed_back.with({}).add();
  log_.info("claim handed back",
            {{"namespace", claim.namespace_name}, {"claim", claim.name}, {"why", why}});
  events_.record(claim, kube::EventType::kWarning, "ProvisioningFailed",
                 concat(why, "; another node is looked for"));
  co_return Status();
}

}  // namespace flexlocal::provisioner
