#include "provisioner/controller/volume_binder.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {

Task<Status> VolumeBinder::bind(const Claim& claim, const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  desk_.forget_unoffered(copy.name);
  const std::string path = volumes_path();
  const std::string body = volume_json(order, claim.access_modes);
  auto answer = co_await parts_.api.create(path, body);
  if (!answer && answer.error().code() == ErrorCode::kExists) {
    auto adopted = co_await adopt(claim, copy);
    co_return adopted;
  }
  if (!answer) {
    const Error error = answer.error().context("creating the PersistentVolume");
    fail(claim, error.message());
    co_return error;
  }
  parts_.volumes.put(answer->root());
  count_bound(claim, copy);
  parts_.log.info("volume provisioned", {{"namespace", claim.namespace_name},
                                         {"claim", claim.name},
                                         {"volume", order.volume.name.text()},
                                         {"node", order.node},
                                         {"size", to_string(order.volume.size)}});
  say(claim, kube::EventType::kNormal, "ProvisioningSucceeded",
      concat("volume ", order.volume.name.text(), " of ", to_string(order.volume.size),
             " in pool \"", order.volume.pool, "\" on node ", order.node));
  co_return Status();
}

// There already: most often an earlier try of ours whose answer was lost.
Task<Status> VolumeBinder::adopt(const Claim& claim, const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  const std::string path = volume_path(order.volume.name.text());
  auto answer = co_await parts_.api.get(path);
  if (!answer) co_return answer.error().context("reading the PersistentVolume that exists already");
  const auto volume = decode_volume(answer->root());
  if (volume && volume->claim_uid == claim.uid && volume->copy == order.volume.copy) {
    parts_.volumes.put(answer->root());
    count_bound(claim, copy);
    co_return Status();
  }
  const Error error(ErrorCode::kExists,
                    concat("PersistentVolume ", order.volume.name.text(),
                           " exists already and is not of this claim's copy on node ", order.node));
  fail(claim, error.message());
  co_return error;
}

void VolumeBinder::count_bound(const Claim& claim, const VolumeCopy& copy) {
  parts_.work.volumes.provision.succeeded({claim.storage_class, ""}, index_.ordered_for(copy));
}

void VolumeBinder::fail(const Claim& claim, const std::string& why) {
  parts_.work.volumes.provision.failed({claim.storage_class, ""});
  say(claim, kube::EventType::kWarning, "ProvisioningFailed", why);
}

void VolumeBinder::say(const Claim& claim, kube::EventType type, std::string_view reason,
                       const std::string& message) {
  parts_.events.record({reference_to(claim), type, std::string(reason), message});
}

}  // namespace flexlocal::provisioner
