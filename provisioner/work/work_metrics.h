// What the workers count: how often their work went well or not, and how long it took.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "provisioner/kube/metrics.h"

namespace flexlocal::provisioner {

// One kind of work, counted as <prefix>_total, <prefix>_failed_total, <prefix>_duration_seconds.
class WorkCounters {
 public:
  WorkCounters(const std::string& prefix, const std::string& what,
               const std::vector<std::string>& labels);

  void succeeded(std::initializer_list<std::string_view> labels, std::chrono::nanoseconds took);
  // One try. What is tried again counts again.
  void failed(std::initializer_list<std::string_view> labels) { failed_.with(labels).add(); }

  // It must outlive `metrics`.
  void show_in(kube::Metrics& metrics) const;

 private:
  kube::Family<kube::Counter> succeeded_;
  kube::Family<kube::Counter> failed_;
  kube::Family<kube::Histogram> seconds_;
};

// The names are those of the library that most external provisioners stand on, so that dashboards
// fit. Source: sig-storage-lib-external-provisioner/controller/metrics
struct VolumeMetrics {
  // Labels: class and source, which is the kind of a claim's data source and therefore empty here.
  WorkCounters provision{"controller_persistentvolumeclaim_provision",
                         "PersistentVolumes that were made for claims",
                         {"class", "source"}};
  // Labels: class. The time of a removal is that from its first step to its last, hours with a
  // wipe.
  WorkCounters remove{
      "controller_persistentvolume_delete", "PersistentVolumes that were deleted", {"class"}};
  // Labels: class.
  WorkCounters grow{"flexlocal_volume_grow", "Volumes that were grown", {"class"}};

  // It must outlive `metrics`.
  void show_in(kube::Metrics& metrics) const;
};

}  // namespace flexlocal::provisioner
