// What is wrong with one volume, and what to do about it: pure.
#pragma once

#include <vector>

#include "flexvolume/people/finding.h"
#include "flexvolume/people/volume_view.h"

namespace flexlocal::people {

// One finding at least: ok when nothing is wrong.
std::vector<Finding> examine(const VolumeView& view);

}  // namespace flexlocal::people
