// Everything about one volume.
#pragma once

#include <string>
#include <vector>

#include "flexvolume/cli/finding.h"
#include "flexvolume/cli/volume_view.h"

namespace flexlocal::cli {

// "key  value" lines, then the findings.
std::string status_text(const VolumeView& view, const std::vector<Finding>& findings);

// The members of `list`, and record, logicalVolume, ioLimits and findings: see flexlocal(8).
std::string status_json(const VolumeView& view, const std::vector<Finding>& findings);

}  // namespace flexlocal::cli
