// Makes the PersistentVolume of a copy that its node promised, for the claim that it was ordered
// for.
#pragma once

#include <string>

#include "provisioner/controller/cluster_view.h"
#include "provisioner/controller/order_desk.h"
#include "provisioner/controller/provisioning_report.h"

namespace flexlocal::provisioner {

class VolumeBinder {
 public:
  VolumeBinder(kube::ApiClient& api, ClusterView& view, OrderDesk& desk, ProvisioningReport& report,
               Log& log)
      : api_(api), view_(view), desk_(desk), report_(report), log_(log) {}

  // One that is there for this very copy is taken for ours; kExists for any other of that name.
  Task<Status> bind(const Claim& claim, const VolumeCopy& copy);

 private:
  Task<Status> adopt(const Claim& claim, const VolumeCopy& copy);
  void count_bound(const Claim& claim, const VolumeCopy& copy);

  kube::ApiClient& api_;
  ClusterView& view_;
  OrderDesk& desk_;
  ProvisioningReport& report_;
  Log& log_;
};

}  // namespace flexlocal::provisioner
