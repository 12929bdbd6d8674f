#include "provisioner/controller/ends/lost_volume_worker.h"

#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {

Task<Status> LostVolumeWorker::work(const std::string& name) {
  const auto known = view_.volumes.get(name);
  if (known == nullptr || known->node.empty()) {
    report_.forget(name);
    co_return Status();
  }
  const Volume volume = *known;  // the store may change while we wait
  const auto gone = co_await absence_.is_gone(volume.node);
  if (!gone) co_return gone.error();
  if (!*gone) {
    if (view_.nodes.get(volume.node) != nullptr) report_.forget(name);
    co_return Status();
  }
  auto reconciled = co_await reconcile(volume);
  co_return reconciled;
}

Task<Status> LostVolumeWorker::reconcile(const Volume& volume) {
  const LostVolumePlan plan = plan_lost_volume(volume, policy_);
  if (plan == LostVolumePlan::kNothing) co_return Status();
  if (plan == LostVolumePlan::kReport) {
    report_.report(volume);
    co_return Status();
  }
  auto acted = co_await act(volume, plan);
  co_return acted;
}

// Only on the API server's own word of this moment, for the node and for the volume.
Task<Status> LostVolumeWorker::act(const Volume& known, LostVolumePlan plan) {
  const auto absent = co_await absence_.is_absent_now(known.node);
  if (!absent) co_return absent.error();
  if (!*absent) co_return Status();
  const std::string path = volume_path(known.name);
  const auto answer = co_await api_.get(path);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!answer) co_return answer.error();
  std::optional<Volume> latest = decode_volume(answer->root());
  if (!latest || latest->uid != known.uid || latest->node != known.node ||
      plan_lost_volume(*latest, policy_) != plan)
    co_return Status();  // the watch brings what it is now
  if (plan == LostVolumePlan::kDelete) {
    const kube::Preconditions same{.uid = latest->uid,
                                   .resource_version = latest->resource_version};
    const auto deleted = co_await api_.delete_object(path, same);
    if (!deleted && deleted.error().code() == ErrorCode::kNotFound) co_return Status();
    if (!deleted) co_return deleted.error().context("deleting the PersistentVolume");
    latest = decode_volume(deleted->root());
    if (!latest) co_return Status();
  }
  auto gone = co_await release(*latest);
  co_return gone;
}

Task<Status> LostVolumeWorker::release(const Volume& volume) {
  const std::string path = volume_path(volume.name);
  const std::string body = patch_without_finalizer(volume);
  const auto answer = co_await api_.merge_patch(path, body);
  if (!answer && answer.error().code() != ErrorCode::kNotFound)
    co_return answer.error().context("letting the PersistentVolume go");
  report_.report_released(volume);
  co_return Status();
}

}  // namespace flexlocal::provisioner
