// Puts the PersistentVolume of one copy in the place of another's, under the same claim.
#pragma once

#include <string>

#include "provisioner/controller/orders/replacement_report.h"
#include "provisioner/controller/orders/volume_binder.h"
#include "provisioner/controller/view/cluster_view.h"

namespace flexlocal::provisioner {

class VolumeReplacer {
 public:
  VolumeReplacer(kube::ApiClient& api, const ClusterView& view, VolumeBinder& binder,
                 ReplacementReport& report)
      : api_(api), view_(view), binder_(binder), report_(report) {}

  // Whoever leads next goes on from what is there. The source of a PersistentVolume can never be
  // changed: until the next one is there the claim is Lost, for the time of a request.
  Task<Status> replace(const Claim& claim, const VolumeCopy& copy);

 private:
  Task<Status> end_volume(const Volume& volume);
  Task<Status> touch(const Claim& claim);
  Task<void> report_stranded(const Claim& claim, const std::string& from, const std::string& to);

  kube::ApiClient& api_;
  const ClusterView& view_;
  VolumeBinder& binder_;
  ReplacementReport& report_;
};

}  // namespace flexlocal::provisioner
