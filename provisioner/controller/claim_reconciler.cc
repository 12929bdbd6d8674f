#include "provisioner/controller/claim_reconciler.h"

#include "provisioner/controller/view/work_keys.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {

Task<Status> ClaimReconciler::work(const std::string& key) {
  const auto known = view_.claims.get(key);
  const bool has_volume = known != nullptr && !known->volume_name.empty();
  if (known != nullptr && !has_volume && !concerns(*known)) {
    if (ranks_ == nullptr || !known->selected_node.empty()) co_return Status();
    auto ranked = co_await ranks_->work(key);
    co_return ranked;
  }
  if (known == nullptr) {
    growths_.forget(key);
    replacements_.forget(key);
  }
  Requeue requeue{RequeueAfter()};
  if (has_volume)
    requeue = co_await work_on_bound(*known);
  else
    requeue = co_await orders_.work(key);
  if (!requeue) co_return requeue.error();
  if (*requeue) queue_.add_after(concat(kClaimKey, key), **requeue);
  co_return Status();
}

Task<Requeue> ClaimReconciler::work_on_bound(const Claim& claim) {
  Requeue requeue{RequeueAfter()};
  if (replacements_.concerns(claim)) {
    requeue = co_await replacements_.work(claim);
  } else {
    const std::string key = claim.key();
    requeue = co_await growths_.work(key);
  }
  co_return requeue;
}

// A controller of one node looks after claims that were sent there, and after those that something
// there may be of.
bool ClaimReconciler::concerns(const Claim& claim) const {
  if (view_.scope == Scope::kAllNodes) return true;
  return view_.is_of_one_node() && (claim.selected_node == view_.own_node ||
                                    !view_.copies.names_of(volume_of_claim(claim.uid)).empty() ||
                                    view_.copies.holding(claim.key()) != nullptr ||
                                    view_.unordered().of_claim(claim).has_value());
}

// Of one node: most changes are of claims of other nodes, and each node hears of all of them.
bool ClaimReconciler::notice(const std::string& key) {
  const bool is_turn = ranks_ != nullptr && ranks_->notice(key);
  const auto claim = view_.claims.get(key);
  if (!view_.is_of_one_node() || claim == nullptr || is_turn) return true;
  return claim->volume_name.empty() ? concerns(*claim)
                                    : view_.volumes.get(claim->volume_name) != nullptr;
}

void ClaimReconciler::enqueue(const std::string& namespace_name, const std::string& name) {
  const std::string claim = concat(namespace_name, '/', name);
  if (view_.claims.get(claim) != nullptr) queue_.add(concat(kClaimKey, claim));
}

}  // namespace flexlocal::provisioner
