#include "provisioner/agent/promise_keeper.h"

#include <set>

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

bool is_of_another_node(JsonView object, const std::string& node) {
  const auto volume = decode_volume(object);
  return volume && !volume->node.empty() && volume->node != node;
}

// It may be here again by the time that it gets a volume.
bool has_claim(const NodeParts& parts, const engine::PromisedVolume& promised) {
  bool found = false;
  parts.claims.for_each([&](const std::string&, const Claim& claim) {
    found = found || claim.uid == promised.name.claim_uid();
  });
  return found;
}

}  // namespace

std::vector<engine::PromisedVolume> stale_promises(const engine::Inventory& inventory,
                                                   const NodeParts& parts) {
  std::vector<engine::PromisedVolume> stale;
  if (inventory.promised.empty()) return stale;
  std::set<std::string> coming;
  parts.claims.for_each([&](const std::string&, const Claim& claim) {
    if (claim.selected_node.empty() || claim.selected_node == parts.node.name)
      coming.insert(claim.uid);
  });
  for (const engine::PromisedVolume& promised : inventory.promised)
    if (promised.cluster_id == parts.cluster_id && !coming.contains(promised.name.claim_uid()) &&
        parts.volumes.get(promised.name.text()) == nullptr)
      stale.push_back(promised);
  return stale;
}

Task<void> PromiseKeeper::run(std::chrono::seconds interval) {
  auto claims = co_await parts_.claims.wait_synced();
  auto volumes = co_await parts_.volumes.wait_synced();
  if (!claims || !volumes) co_return;
  for (;;) {
    auto slept = co_await kube::sleep_for(interval);
    if (!slept) co_return;
    auto looked = co_await look();
    if (!looked && looked.error().code() != ErrorCode::kCancelled)
      parts_.log.warning("old promises could not be withdrawn",
                         {{"error", looked.error().message()}});
  }
}

Task<Status> PromiseKeeper::look() {
  auto refreshed = co_await parts_.ledger.refresh(false);
  if (!refreshed) co_return refreshed;
  const auto stale = stale_promises(*parts_.ledger.inventory(), parts_);
  for (const engine::PromisedVolume& promised : stale) {
    const std::string path = volume_path(promised.name.text());
    auto answer = co_await parts_.api.get(path);
    if (!answer && answer.error().code() != ErrorCode::kNotFound)
      co_return answer.error().context("asking whether a promised volume is still wanted");
    if (answer ? !is_of_another_node(answer->root(), parts_.node.name)
               : has_claim(parts_, promised))
      continue;
    auto withdrawn = co_await parts_.storage.withdraw(promised);
    if (!withdrawn) co_return withdrawn;
    parts_.ledger.forget();
    parts_.log.info("promise withdrawn: its claim is gone, or has its volume elsewhere",
                    {{"volume", promised.name.text()}});
  }
  co_return Status();
}

}  // namespace flexlocal::provisioner
