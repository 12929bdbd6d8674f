// Why a volume is not made or mounted, and what a person is to do about it.
#pragma once

#include <string>

#include "flexvolume/engine/contract/contract.h"
#include "flexvolume/engine/lvm/lv_plan.h"

namespace flexlocal::engine {

// What LvMaker answers where the plan says `step`, one of its refusals.
Error lv_refusal(Step step, const VolumeSpec& spec, const std::string& group);

// For kRefuseNode, where LVM shows what its lvcreate had not finished.
Error half_made(const std::string& group, const VolumeName& name);

// kDenied. A volume with a size of its author's choosing, made by an inline FlexVolume before the
// claim's own first mount, would not be limited as the claim says. `size`: what it was made with.
Error other_size(const VolumeSpec& spec, Bytes size);

}  // namespace flexlocal::engine
