#include "provisioner/controller/orders/volume_binder.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {

Task<Status> VolumeBinder::bind(const Claim& claim, const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  const std::string path = volumes_path();
  const std::string body = volume_json(order, claim.access_modes);
  auto answer = co_await api_.create(path, body);
  if (!answer && answer.error().code() == ErrorCode::kExists) {
    auto adopted = co_await adopt(claim, copy);
    co_return adopted;
  }
  if (!answer) {
    const Error error = answer.error().context("creating the PersistentVolume");
    report_.report_failed(claim, error.message());
    co_return error;
  }
  view_.volumes.put(answer->root());
  count_bound(claim, copy);
  report_.report_succeeded(claim, order);
  co_return Status();
}

// There already: most often an earlier try of ours whose answer was lost.
Task<Status> VolumeBinder::adopt(const Claim& claim, const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  const std::string path = volume_path(order.volume.name.text());
  auto answer = co_await api_.get(path);
  if (!answer) co_return answer.error().context("reading the PersistentVolume that exists already");
  const auto volume = decode_volume(answer->root());
  if (volume && volume->claim_uid == claim.uid && volume->copy == order.volume.copy) {
    view_.volumes.put(answer->root());
    count_bound(claim, copy);
    co_return Status();
  }
  const Error error(ErrorCode::kExists,
                    concat("PersistentVolume ", order.volume.name.text(),
                           " exists already and is not of this claim's copy on node ", order.node));
  report_.report_failed(claim, error.message());
  co_return error;
}

Task<Result<bool>> VolumeBinder::has_volume(const VolumeCopy& copy) {
  const std::string path = volume_path(copy.order->volume.name.text());
  const auto volume = co_await api_.get(path);
  if (!volume && volume.error().code() == ErrorCode::kNotFound) co_return false;
  if (!volume) co_return volume.error().context("looking whether there is a PersistentVolume");
  view_.volumes.put(volume->root());
  co_return true;
}

void VolumeBinder::count_bound(const Claim& claim, const VolumeCopy& copy) {
  report_.count_succeeded(claim, view_.copies.ordered_for(copy));
}

}  // namespace flexlocal::provisioner
