#include "provisioner/controller/copy_reconciler.h"

#include "provisioner/controller/view/work_keys.h"

namespace flexlocal::provisioner {

void CopyReconciler::watch() {
  view_.volumes.on_change([this](const std::string& name) {
    if (!term_.has_begun()) return;
    queue_.add(concat(kVolumeKey, name));
    for (const std::string& copy : view_.copies.names_of(name)) {
      restless_.insert(copy);
      queue_.add(concat(kCopyKey, copy));
    }
    // The expand controller may write a capacity when all is done, which changes no claim.
    if (const auto volume = view_.volumes.get(name))
      claims_.enqueue(volume->claim_namespace, volume->claim_name);
  });
  view_.copies.copies().on_change([this](const std::string& name) {
    if (!term_.has_begun()) return;
    restless_.insert(name);
    queue_.add(concat(kCopyKey, name));
    queue_.add(concat(kVolumeKey, volume_of_copy(name)));
    if (const auto copy = view_.copies.copies().get(name)) enqueue_claim_of(*copy);
  });
}

void CopyReconciler::enqueue_claim_of(const VolumeCopy& copy) {
  if (copy.order) claims_.enqueue(copy.order->volume.claim_namespace, copy.order->claim_name);
}

bool CopyReconciler::is_ours(const VolumeCopy& copy) const {
  return view_.orders_for(copy.order ? copy.order->node : copy.agent);
}

Task<Status> CopyReconciler::work(const std::string& name) {
  const auto copy = view_.copies.copies().get(name);
  if (copy == nullptr) {
    collector_.forget(name);
    co_return Status();
  }
  if (!is_ours(*copy)) co_return Status();
  auto requeue = co_await collector_.work(*copy);
  if (!requeue) co_return requeue.error();
  if (*requeue) queue_.add_after(concat(kCopyKey, name), **requeue);
  co_return Status();
}

void CopyReconciler::gather_restless() {
  view_.copies.copies().for_each([&](const std::string& name, const VolumeCopy& copy) {
    if (is_ours(copy) && !collector_.rests(copy)) restless_.insert(name);
    const bool is_broken =
        is_given_up(copy) || is_gone_unused(copy) || copy.status.state == CopyState::kRefused;
    if (is_broken) enqueue_claim_of(copy);
  });
}

void CopyReconciler::scan() {
  if (!term_.has_begun()) return;
  restless_.scan([&](const std::string& name) {
    const auto copy = view_.copies.copies().get(name);
    if (copy == nullptr || !is_ours(*copy) || collector_.rests(*copy)) return false;
    enqueue(queue_, kCopyKey, name);
    return true;
  });
}

}  // namespace flexlocal::provisioner
