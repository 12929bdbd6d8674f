// The daemon in the cluster role, from options to exit status.
#pragma once

#include "provisioner/daemon/options.h"

namespace flexlocal::provisioner {

// Runs until SIGTERM or SIGINT; leads when it is elected, again after it lost. An Error is one line
// for a person.
Status run_cluster(const DaemonOptions& options);

}  // namespace flexlocal::provisioner
