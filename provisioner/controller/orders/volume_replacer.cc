#include "provisioner/controller/orders/volume_replacer.h"

#include <utility>

#include "flexvolume/base/text.h"
#include "provisioner/objects/claim_patch.h"
#include "provisioner/objects/claim_pods.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// Of an event's text.
constexpr std::size_t kMostPods = 5;

}  // namespace

Task<Status> VolumeReplacer::replace(const Claim& claim, const VolumeCopy& copy) {
  const auto known = view_.volumes.get(claim.volume_name);
  const std::string from = known == nullptr ? std::string() : known->node;
  VolumeCopy served = copy;
  if (known != nullptr) {
    const Volume volume = *known;
    served.order->reclaim_policy = volume.reclaim_policy;
    auto ended = co_await end_volume(volume);
    if (!ended) co_return ended;
  }
  auto bound = co_await binder_.bind(claim, served);
  if (!bound) co_return bound;
  const std::string to = served.order->node;
  report_.report_replaced(claim, to);
  co_await report_stranded(claim, from, to);
  auto touched = co_await touch(claim);
  co_return touched;
}

// First deleted, then let go: kube-controller-manager protects it anew until it is being deleted.
Task<Status> VolumeReplacer::end_volume(const Volume& known) {
  const std::string path = volume_path(known.name);
  Volume volume = known;
  if (!volume.deleting) {
    const kube::Preconditions same{.uid = volume.uid, .resource_version = volume.resource_version};
    const auto deleted = co_await api_.delete_object(path, same);
    if (!deleted && deleted.error().code() == ErrorCode::kNotFound) co_return Status();
    if (!deleted) co_return deleted.error().context("deleting the PersistentVolume");
    auto latest = decode_volume(deleted->root());
    if (!latest || !latest->deleting) co_return Status();
    volume = std::move(*latest);
  }
  const std::string body = patch_without_protection(volume);
  const auto answer = co_await api_.merge_patch(path, body);
  if (!answer && answer.error().code() != ErrorCode::kNotFound)
    co_return answer.error().context("letting the PersistentVolume go");
  co_return Status();
}

// kube-controller-manager looks at a Lost claim when that changes, and else each 15 s; and which
// node was chosen for it holds no more. Source: syncBoundClaim in
// pkg/controller/volume/persistentvolume/pv_controller.go.
Task<Status> VolumeReplacer::touch(const Claim& claim) {
  const std::string path = claim_path(claim);
  const auto found = co_await api_.get(path);
  if (!found && found.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!found) co_return found.error().context("reading the claim of a volume that was replaced");
  const auto latest = decode_claim(found->root());
  if (!latest || latest->uid != claim.uid || latest->selected_node.empty()) co_return Status();
  const std::string body = patch_without_selected_node(*latest);
  const auto answer = co_await api_.merge_patch(path, body);
  // Whoever was faster has touched it.
  const bool touched = answer || answer.error().code() == ErrorCode::kConflict ||
                       answer.error().code() == ErrorCode::kNotFound;
  co_return touched ? Status() : answer.error().context("taking back which node was chosen");
}

// They wait there for a volume that never comes, and the scheduler places no pod twice.
Task<void> VolumeReplacer::report_stranded(const Claim& claim, const std::string& from,
                                           const std::string& to) {
  std::string pods = "pods that use the claim";
  if (!from.empty()) {
    const auto names =
        co_await pods_on_node(api_, claim.namespace_name, claim.name, from, kMostPods);
    if (names && !names->empty()) pods = concat("pod ", join(*names, ", "));
  }
  report_.report_stranded(claim, to, pods);
}

}  // namespace flexlocal::provisioner
