// Makes the PersistentVolume of a copy that its node promised, for the claim that it was ordered
// for.
#pragma once

#include <string>

#include "provisioner/controller/orders/provisioning_report.h"
#include "provisioner/controller/view/cluster_view.h"

namespace flexlocal::provisioner {

class VolumeBinder {
 public:
  VolumeBinder(kube::ApiClient& api, ClusterView& view, ProvisioningReport& report)
      : api_(api), view_(view), report_(report) {}

  // One that is there for this very copy is taken for ours; kExists for any other of that name.
  Task<Status> bind(const Claim& claim, const VolumeCopy& copy);
  // Whether there is a PersistentVolume of the copy's volume, by the API server's own word: the
  // watch may not have brought it yet.
  Task<Result<bool>> has_volume(const VolumeCopy& copy);

 private:
  Task<Status> adopt(const Claim& claim, const VolumeCopy& copy);
  void count_bound(const Claim& claim, const VolumeCopy& copy);

  kube::ApiClient& api_;
  ClusterView& view_;
  ProvisioningReport& report_;
};

}  // namespace flexlocal::provisioner
