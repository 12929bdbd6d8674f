// What is wrong with one volume, and what to do about it: pure.
#pragma once

#include <vector>

#include "flexvolume/cli/finding.h"
#include "flexvolume/cli/volume_view.h"

namespace flexlocal::cli {

// One finding at least: ok when nothing is wrong.
std::vector<Finding> examine(const VolumeView& view);

}  // namespace flexlocal::cli
