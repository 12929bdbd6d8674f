#include "provisioner/controller/orders/pending_claim_worker.h"

#include "provisioner/controller/claims/selected_node_plan.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {

Task<Status> PendingClaimWorker::work(const std::string& key) {
  const auto known = view_.claims.get(key);
  const bool exists = known != nullptr && view_.volumes.get(volume_of_claim(known->uid)) != nullptr;
  if (known == nullptr || exists || !no_room_.concerns(*known)) {
    no_room_.forget(key);
    co_return Status();
  }
  const Claim claim = *known;  // the store may change while we wait
  if (!waits_for_node(claim, exists)) {
    auto selected = co_await select_node(claim);
    co_return selected;
  }
  auto checked = co_await selected_.check(claim);
  co_return checked;
}

Task<Status> PendingClaimWorker::select_node(const Claim& claim) {
  const bool ours = placer_.waits(claim) && immediate_ == ImmediateBinding::kCentral;
  if (ours) {
    const auto placed = co_await placer_.place(claim);
    if (!placed) co_return placed.error();
    if (*placed) {
      no_room_.forget(claim.key());
      co_return Status();
    }
  }
  no_room_.report(claim);
  co_return Status();
}

}  // namespace flexlocal::provisioner
