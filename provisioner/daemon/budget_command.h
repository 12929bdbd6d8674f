// `flexlocal-provisioner budget`: what each node may still give away, by the nodes' Leases.
#pragma once

#include <iosfwd>

#include "provisioner/daemon/options.h"

namespace flexlocal::provisioner {

// Asks the API server once and writes budget_table().
Status run_budget(const DaemonOptions& options, std::ostream& out);

}  // namespace flexlocal::provisioner
