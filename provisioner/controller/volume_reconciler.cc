#include "provisioner/controller/volume_reconciler.h"

#include "provisioner/controller/view/work_keys.h"

namespace flexlocal::provisioner {

Task<Status> VolumeReconciler::work(const std::string& name) {
  if (term_.has_begun()) {
    const auto known = view_.volumes.get(name);
    const bool has_node = known != nullptr && view_.nodes.get(known->node) != nullptr;
    auto worked = co_await work_on_order(name, has_node);
    if (has_node || !worked) co_return worked;
  }
  if (view_.is_of_one_node()) co_return Status();
  auto looked_after = co_await lost_.work(name);
  co_return looked_after;
}

// One whose Node is gone has nobody who could end it: its copy is to be kept at the most.
Task<Status> VolumeReconciler::work_on_order(const std::string& name, bool has_node) {
  const auto known = view_.volumes.get(name);
  if (known != nullptr && !view_.orders_for(known->node)) co_return Status();
  if (has_node) {
    auto worked = co_await ends_.work(name);
    co_return worked;
  }
  const Status kept = co_await ends_.keep(name);
  // An order that cannot be given at all is no reason to say nothing of the volume.
  const bool is_given_up = !kept && (kept.error().code() == ErrorCode::kDenied ||
                                     kept.error().code() == ErrorCode::kInvalid);
  co_return is_given_up ? Status() : kept;
}

void VolumeReconciler::scan() {
  restless_.scan([&](const std::string& name) {
    const auto volume = view_.volumes.get(name);
    if (volume == nullptr || rests(*volume)) return false;
    enqueue(queue_, kVolumeKey, name);
    return true;
  });
}

void VolumeReconciler::gather_restless() {
  view_.volumes.for_each([&](const std::string& name, const Volume& volume) {
    if (!rests(volume)) restless_.insert(name);
  });
}

bool VolumeReconciler::rests(const Volume& volume) const {
  if (!view_.is_of_one_node() && view_.nodes.get(volume.node) == nullptr) return false;
  return !term_.has_begun() || !view_.orders_for(volume.node) || ends_.rests(volume);
}

}  // namespace flexlocal::provisioner
