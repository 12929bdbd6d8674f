// The daemon in the node role, from options to exit status.
#pragma once

#include "provisioner/daemon/options.h"

namespace flexlocal::provisioner {

// Runs until SIGTERM or SIGINT. An Error is one line for a person: the API server cannot be
// reached or refuses us, node.conf cannot be used.
Status run_node(const DaemonOptions& options);

}  // namespace flexlocal::provisioner
