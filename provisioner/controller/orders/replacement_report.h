// What becomes of giving a bound volume another node: as events on the claim, in the log and in the
// metrics.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "provisioner/controller/view/cluster_work.h"
#include "provisioner/controller/view/event_reporter.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

class ReplacementReport {
 public:
  ReplacementReport(EventReporter events, Log& log, ClusterWork& work)
      : events_(std::move(events)), log_(log), work_(work) {}

  // What is in the way: not the same text again within the hour for which events are kept.
  void report(const Claim& claim, std::string_view reason, const std::string& message);
  // The same, of the search for another node.
  void report_search(const Claim& claim, const std::string& message);

  // The copy's node will never make it, which was decided just now.
  void report_given_up(const Claim& claim, const VolumeCopy& copy, const std::string& why);
  void report_ordered(const Claim& claim, const CopyOrder& order);
  // The PersistentVolume is on that node now.
  void report_replaced(const Claim& claim, const std::string& node);
  // `pods`, in words, may wait where it was.
  void report_stranded(const Claim& claim, const std::string& node, const std::string& pods);
  // There is no such claim any more.
  void forget(const std::string& claim) { events_.forget(claim); }

 private:
  EventReporter events_;
  Log& log_;
  ClusterWork& work_;
};

}  // namespace flexlocal::provisioner
