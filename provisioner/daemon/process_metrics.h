// The daemon's process, by the names that every Prometheus client library has for it.
#pragma once

#include <string>

#include "provisioner/kube/metrics.h"

namespace flexlocal::provisioner {

// process_* from /proc, read at each scrape, and flexlocal_build_info. A figure that cannot be read
// is left out. `proc`: "/proc", or a folder like it for tests.
void show_process(kube::Metrics& metrics, const std::string& proc = "/proc");

// flexlocal_leader, of a role that is leader-elected. What it asks must outlive `metrics`.
void show_leader(kube::Metrics& metrics, std::function<bool()> is_leader);

}  // namespace flexlocal::provisioner
