#include "provisioner/controller/orders/provisioning_report.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {

void ProvisioningReport::report_ordered(const Claim& claim, const CopyOrder& order) {
  if (claim.selected_node.empty()) work_.claims_placed.with({}).add();
  log_.info("copy ordered", {{"namespace", claim.namespace_name},
                             {"claim", claim.name},
                             {"volume", order.volume.name.text()},
                             {"node", order.node}});
}

void ProvisioningReport::report_adopted(const Claim& claim, const CopyOrder& order) {
  log_.warning("a volume that no order named is ordered as it is there",
               {{"namespace", claim.namespace_name},
                {"claim", claim.name},
                {"volume", order.volume.name.text()},
                {"node", order.node}});
}

void ProvisioningReport::report_succeeded(const Claim& claim, const CopyOrder& order) {
  log_.info("volume provisioned", {{"namespace", claim.namespace_name},
                                   {"claim", claim.name},
                                   {"volume", order.volume.name.text()},
                                   {"node", order.node},
                                   {"size", to_string(order.volume.size)}});
  record(claim, kube::EventType::kNormal, "ProvisioningSucceeded",
         concat("volume ", order.volume.name.text(), " of ", to_string(order.volume.size),
                " in pool \"", order.volume.pool, "\" on node ", order.node));
}

}  // namespace flexlocal::provisioner
