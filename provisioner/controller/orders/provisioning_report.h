// What becomes of making the volume of a claim: as events on the claim, in the log and in the
// metrics.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "provisioner/controller/view/cluster_work.h"
#include "provisioner/controller/view/event_reporter.h"
#include "provisioner/objects/copy_order.h"

namespace flexlocal::provisioner {

class ProvisioningReport {
 public:
  ProvisioningReport(EventReporter events, Log& log, ClusterWork& work)
      : events_(std::move(events)), log_(log), work_(work) {}

  void record(const Claim& claim, kube::EventType type, std::string_view reason,
              std::string message) {
    events_.record(claim, type, reason, std::move(message));
  }
  // Not again within `pause`, for a text that changes all the time.
  bool is_due(const Claim& claim, std::string_view reason, std::chrono::nanoseconds pause) {
    return events_.is_due(claim.key(), reason, pause);
  }
  // There is no such claim any more.
  void forget(const std::string& claim) { events_.forget(claim); }

  // A new copy was ordered. Counts the claim where no scheduler chose the node.
  void report_ordered(const Claim& claim, const CopyOrder& order);
  // What no order named is ordered as it is on its node.
  void report_adopted(const Claim& claim, const CopyOrder& order);
  // The PersistentVolume was made.
  void report_succeeded(const Claim& claim, const CopyOrder& order);
  void count_failed(const Claim& claim) {
    work_.volumes.provision.failed({claim.storage_class, ""});
  }
  void count_succeeded(const Claim& claim, std::chrono::nanoseconds took) {
    work_.volumes.provision.succeeded({claim.storage_class, ""}, took);
  }
  // A try that came to nothing, in words.
  void report_failed(const Claim& claim, const std::string& why) {
    count_failed(claim);
    record(claim, kube::EventType::kWarning, "ProvisioningFailed", why);
  }

 private:
  EventReporter events_;
  Log& log_;
  ClusterWork& work_;
};

}  // namespace flexlocal::provisioner
