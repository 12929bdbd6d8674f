// The volumes of the node, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "flexvolume/base/json.h"
#include "flexvolume/cli/volume_view.h"

namespace flexlocal::cli {

// A line with the columns' names, then one a volume; "-" for what is not known.
std::string to_text(const std::vector<VolumeView>& views);

// {"volumes":[...],"notices":[...]}: sizes are numbers of bytes, what is not known is null. The
// keys are part of the contract: flexlocal(8) lists them.
std::string to_json(const std::vector<VolumeView>& views, const std::vector<std::string>& notices);

// The members of one volume's object, which the caller opens and closes.
void write_members(JsonWriter& json, const VolumeView& view);

// "wiping 37%", "ready".
std::string state_text(const VolumeView& view);

// "shop/0b1c2d3e-...", "default/data": what is not known is left out.
std::string joined(const std::string& first, const std::string& second);

}  // namespace flexlocal::cli
