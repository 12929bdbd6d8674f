#include "provisioner/work/work_metrics.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {

WorkCounters::WorkCounters(const std::string& prefix, const std::string& what,
                           const std::vector<std::string>& labels)
    : succeeded_({concat(prefix, "_total"), concat(what, '.'), labels}),
      failed_({concat(prefix, "_failed_total"), concat("Failed tries of: ", what, '.'), labels}),
      seconds_(
          {concat(prefix, "_duration_seconds"), concat("How long it took: ", what, '.'), labels}) {}

void WorkCounters::succeeded(std::initializer_list<std::string_view> labels,
                             std::chrono::nanoseconds took) {
  succeeded_.with(labels).add();
  seconds_.with(labels).observe(took);
}

void WorkCounters::show_in(kube::Metrics& metrics) const {
  metrics.show(succeeded_);
  metrics.show(failed_);
  metrics.show(seconds_);
}

void VolumeMetrics::show_in(kube::Metrics& metrics) const {
  provision.show_in(metrics);
  remove.show_in(metrics);
  grow.show_in(metrics);
}

}  // namespace flexlocal::provisioner
