// The daemon's process, by the names that every Prometheus client library has for it.
#pragma once

#include <string>

#include "provisioner/kube/metrics.h"

namespace flexlocal::provisioner {

// process_* from /proc, read at each scrape, and flexlocal_build_info. A figure that cannot be read
// is left out. `proc`: "/proc", or a folder like it for tests.
void show_process(kube::Metrics& metrics, const std::string& proc = "/proc");

}  // namespace flexlocal::provisioner
