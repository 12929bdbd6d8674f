// What a quota folder says of itself: an LV's tags, on a folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::engine {

struct QuotaMark {
  Ownership owner;
  std::uint32_t project_id = 0;  // stands where an LV's tags have the attempt
};

// The tags of contract.h, separated by commas, without their prefix, and without a state: the
// folder's place says it.
std::string to_mark(const VolumeSpec& spec, std::uint32_t project_id);
// Nothing when the text is not a whole mark: the folder is then a stranger's.
std::optional<QuotaMark> parse_mark(std::string_view text);

}  // namespace flexlocal::engine
