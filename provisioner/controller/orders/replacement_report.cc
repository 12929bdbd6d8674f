#include "provisioner/controller/orders/replacement_report.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kGivenUp = "PromiseGivenUp";

}  // namespace

void ReplacementReport::report(const Claim& claim, std::string_view reason,
                               const std::string& message) {
  events_.report(claim, kube::EventType::kWarning, reason, message);
}

void ReplacementReport::report_search(const Claim& claim, const std::string& message) {
  report(claim, kGivenUp, message);
}

void ReplacementReport::report_given_up(const Claim& claim, const VolumeCopy& copy,
                                        const std::string& why) {
  work_.promises_given_up.with({}).add();
  log_.warning("a promise was given up, and the volume gets another node",
               {{"namespace", claim.namespace_name},
                {"claim", claim.name},
                {"copy", copy.name},
                {"node", copy.order->node},
                {"why", why}});
  report_search(claim, concat(why, ". No pod has had it, and it gets another node"));
}

void ReplacementReport::report_ordered(const Claim& claim, const CopyOrder& order) {
  log_.info("copy ordered in place of one that was given up", {{"namespace", claim.namespace_name},
                                                               {"claim", claim.name},
                                                               {"volume", order.volume.name.text()},
                                                               {"node", order.node}});
}

void ReplacementReport::report_replaced(const Claim& claim, const std::string& node) {
  log_.warning("volume replaced", {{"namespace", claim.namespace_name},
                                   {"claim", claim.name},
                                   {"volume", claim.volume_name},
                                   {"node", node}});
}

void ReplacementReport::report_stranded(const Claim& claim, const std::string& node,
                                        const std::string& pods) {
  std::string text = concat("volume ", claim.volume_name, " is on node ", node, " now; delete ",
                            pods, " if sent elsewhere before: there they wait for ever");
  events_.record(claim, kube::EventType::kWarning, "VolumeReplaced", std::move(text));
}

}  // namespace flexlocal::provisioner
