// Tells of the PersistentVolumes of deleted nodes: as events on them and their claims, in the log
// and in the metrics.
#pragma once

#include <string>
#include <utility>

#include "provisioner/controller/view/cluster_work.h"
#include "provisioner/controller/view/event_reporter.h"

namespace flexlocal::provisioner {

class LostVolumeReport {
 public:
  LostVolumeReport(EventReporter events, Log& log, ClusterWork& work)
      : events_(std::move(events)), log_(log), work_(work) {}

  // What a person can do. Not the same text again within the hour for which events are kept.
  void report(const Volume& volume);
  // It was let go.
  void report_released(const Volume& volume);
  // There is no such PersistentVolume any more, or its node is there.
  void forget(const std::string& name) { events_.forget(name); }

 private:
  EventReporter events_;
  Log& log_;
  ClusterWork& work_;
};

}  // namespace flexlocal::provisioner
