#include "provisioner/controller/ends/volume_end_worker.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/serving_copy.h"
#include "provisioner/controller/view/node_silence.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// Whose pods may mount it from now on, and what becomes of its data in the end. Of another
// namespace's claim the node says that it cannot.
void take_over(const Volume& volume, CopyOrder& order) {
  order.reclaim_policy = policy_of_order(volume);
  if (volume.claim_uid.empty()) return;
  order.claim_uid = volume.claim_uid;
  order.claim_name = volume.claim_name;
  order.volume.claim_namespace = volume.claim_namespace;
  order.volume.access_mode = access_mode_of(volume.access_modes);
}

// What a copy that was found does not know of itself, and an order to serve has to say.
void fill_in(const Volume& volume, CopyOrder& order) {
  const auto fill = [](std::string& field, const std::string& value) {
    if (field.empty()) field = value;
  };
  fill(order.storage_class, volume.storage_class);
  if (!volume.order) return;
  fill(order.node_uid, volume.order->node_uid);
  fill(order.hostname, volume.order->hostname);
  fill(order.claim_name, volume.order->claim_name);
}

// By what its node said, which a person is told. What was refused before a pod had it is
// replaced, and that is told.
bool is_out_of_service(const VolumeCopy& copy) {
  return copy.status.state == CopyState::kLost ||
         (copy.status.state == CopyState::kRefused && (!copy.order || was_made_or_found(copy)));
}

}  // namespace

Task<Status> VolumeEndWorker::work(const std::string& name) {
  const auto known = view_.volumes.get(name);
  if (known == nullptr || !is_ours(*known)) co_return Status();
  const Volume volume = *known;  // the store may change while we wait
  const EndPlan planned = plan(volume);
  if (planned.keeps_deleting)
    events_.record(
        volume, kube::EventType::kWarning, "VolumeFailedDelete",
        "the claim is still bound to this volume; its data stays until the claim is deleted");
  auto carried = co_await carry_out(volume, planned);
  co_return carried;
}

EndPlan VolumeEndWorker::plan(const Volume& volume) const {
  const auto copy = copy_of(volume);
  const bool is_replaced = view_.scope == Scope::kAllNodes && is_to_be_replaced(volume, copy.get());
  if (is_replaced) return {};
  EndPlan plan = plan_end(volume, copy.get());
  // Where each node's daemon gives its own orders nothing has its place: it serves, and the agent
  // removes nothing that a PersistentVolume names (NodeController::confirm).
  const bool is_open = plan.action == EndAction::kWait && plan.desired == DesiredState::kServing &&
                       copy != nullptr && is_withdrawn(*copy);
  if (is_open && view_.scope == Scope::kOneNode) plan.action = EndAction::kGiveOrder;
  return plan;
}

bool VolumeEndWorker::rests(const Volume& volume) const {
  if (!is_ours(volume)) return true;
  const auto copy = copy_of(volume);
  const EndPlan planned = plan(volume);
  return planned.action == EndAction::kNone && !planned.keeps_deleting &&
         (copy == nullptr || !is_out_of_service(*copy));
}

// Should its node come back, it is to find what holds now: that the copy is to be kept, or is not
// to be removed any more.
Task<Status> VolumeEndWorker::keep(const std::string& name) {
  const auto known = view_.volumes.get(name);
  if (known == nullptr) events_.forget(name);
  if (known == nullptr || !is_ours(*known)) co_return Status();
  const Volume volume = *known;
  const auto copy = copy_of(volume);
  const EndPlan planned = plan(volume);
  const bool keeps = planned.desired == DesiredState::kRetained ||
                     (planned.desired == DesiredState::kServing && copy != nullptr && copy->order &&
                      is_to_go(copy->order->desired));
  if (planned.action != EndAction::kGiveOrder || !keeps) co_return Status();
  auto ordered = co_await order(volume, planned.desired);
  co_return ordered;
}

// Also one that is not understood: its name is taken, and it is not written over.
KnownCopy VolumeEndWorker::copy_of(const Volume& volume) const {
  return provisioner::copy_of(volume, view_.copies.of_volume(volume.name));
}

Task<Status> VolumeEndWorker::carry_out(const Volume& volume, const EndPlan& plan) {
  Status done;
  switch (plan.action) {
    case EndAction::kNone:
      report_loss(volume);
      break;
    case EndAction::kWait:
      report_trouble(volume);
      break;
    case EndAction::kDelete:
      done = co_await remove_object(volume);
      break;
    case EndAction::kGiveOrder: {
      if (plan.desired == DesiredState::kRemoved) {
        const auto ends = co_await still_ends(volume);
        if (!ends) co_return ends.error();
        if (!*ends) break;
      }
      done = co_await order(volume, plan.desired);
      break;
    }
    case EndAction::kRelease:
      done = co_await release(volume);
      break;
  }
  co_return done;
}

// By the API server's own word: the watch may be on its way through what was before, and a person
// may have made the PersistentVolume anew since, for the data that is there.
Task<Result<bool>> VolumeEndWorker::still_ends(const Volume& volume) {
  const std::string path = volume_path(volume.name);
  const auto answer = co_await api_.get(path);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return false;
  if (!answer) co_return answer.error().context("looking whether the volume is still to go");
  const auto latest = decode_volume(answer->root());
  const bool ends = latest && latest->uid == volume.uid &&
                    plan(*latest).desired == DesiredState::kRemoved && latest->deleting;
  if (!ends) view_.volumes.put(answer->root());
  co_return ends;
}

// An object that was lost is made again from the PersistentVolume's annotation, for data that is
// there: nothing is made anew by it.
Task<Status> VolumeEndWorker::order(const Volume& volume, DesiredState desired) {
  const auto known = copy_of(volume);
  if (known != nullptr) {
    const VolumeCopy copy = *known;
    CopyOrder order = *copy.order;
    order.desired = desired;
    take_over(volume, order);
    fill_in(volume, order);
    auto changed = co_await desk_.change(copy, order);
    co_return changed;
  }
  const auto spec = stated_spec(volume);
  if (!spec) co_return spec.error();
  CopyOrder stated = *volume.order;
  if (stated.volume.cluster_id != desk_.cluster_id())
    co_return Error(ErrorCode::kDenied, "the volume was made for another cluster");
  stated.origin = Origin::kExisting;
  stated.desired = desired;
  take_over(volume, stated);
  auto given = co_await desk_.give(stated);
  if (given)
    log_.warning("the order of a volume's copy was lost and is given again",
                 {{"volume", volume.name}, {"node", volume.node}});
  co_return given;
}

Task<Status> VolumeEndWorker::remove_object(const Volume& volume) {
  const std::string path = volume_path(volume.name);
  const kube::Preconditions same{.uid = volume.uid, .resource_version = volume.resource_version};
  auto answer = co_await api_.delete_object(path, same);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!answer) co_return answer.error().context("deleting the PersistentVolume");
  view_.volumes.put(answer->root());
  co_return Status();
}

Task<Status> VolumeEndWorker::release(const Volume& volume) {
  const std::string path = volume_path(volume.name);
  const std::string body = patch_without_finalizer(volume);
  auto answer = co_await api_.merge_patch(path, body);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!answer) co_return answer.error().context("letting the PersistentVolume go");
  events_.forget(volume.name);
  count_removed(volume);
  log_.info("volume let go", {{"namespace", volume.claim_namespace},
                              {"claim", volume.claim_name},
                              {"volume", volume.name}});
  co_return Status();
}

// Of a volume that is to serve and cannot: on the claim as well, whose pods wait.
void VolumeEndWorker::report_loss(const Volume& volume) {
  const auto copy = copy_of(volume);
  if (copy == nullptr || !is_out_of_service(*copy)) return;
  for (const CopyCondition& condition : copy->status.conditions) {
    if (condition.type != kAsOrdered || condition.holds) continue;
    const std::string text =
        concat("node ", volume.node, " cannot serve the volume: ", condition.message);
    events_.record(volume, kube::EventType::kWarning, "VolumeLost", text);
    events_.record(reference_to_claim_of(volume), kube::EventType::kWarning, "VolumeLost", text);
  }
}

// What its node says of an end that does not come, or takes its time.
void VolumeEndWorker::report_trouble(const Volume& volume) {
  const auto copy = copy_of(volume);
  if (copy == nullptr) return;
  if (!is_understood(*copy) && (!copy->order || copy->order->desired == DesiredState::kServing))
    return events_.report(volume, kube::EventType::kWarning, "NotUnderstood",
                          words_of_unknown(*copy));
  if (is_withdrawn(*copy) && !is_answered(*copy))
    return events_.report(
        volume, kube::EventType::kNormal, "WaitingForNodes",
        concat("the PersistentVolume came when its copy on node ", volume.node,
               " was withdrawn: it serves if a pod has had it, which its node has not said yet"));
  if (const std::string silence = silence_of(view_.nodes, view_.copies, *copy); !silence.empty())
    return events_.report(volume, kube::EventType::kWarning, "VolumeFailedDelete", silence);
  const CopyStatus& status = copy->status;
  if (status.state == CopyState::kRemoving && status.wiped > Bytes())
    events_.report(volume, kube::EventType::kNormal, "VolumeWiping",
                   concat("wiping: ", to_string(status.wiped), " of ", to_string(status.size)));
  // What it said of an earlier order is none of this one's troubles.
  if (!is_answered(*copy)) return;
  for (const CopyCondition& condition : status.conditions) {
    if (condition.holds || condition.message.empty()) continue;
    const bool wiped = condition.reason == kPartlyWiped;
    if (!wiped) counters_.failed({volume.storage_class});
    events_.report(volume, kube::EventType::kWarning, wiped ? "VolumeWiping" : "VolumeFailedDelete",
                   condition.message);
  }
}

// What is kept is let go, too, and is not removed.
void VolumeEndWorker::count_removed(const Volume& volume) {
  const auto copy = copy_of(volume);
  if (copy == nullptr || copy->status.state != CopyState::kRemoved) return;
  counters_.succeeded({volume.storage_class}, view_.copies.ordered_for(*copy));
}

}  // namespace flexlocal::provisioner
