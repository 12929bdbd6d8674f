// The mark that the plugin's `init` leaves beside the locks: which version of it kubelet called
// last. The folder is empty after a boot, and kubelet then calls anew.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/result.h"

namespace flexlocal::engine {

// The version of a plugin; nullopt: no kubelet has called one since the host's boot.
using InitMark = std::optional<std::string>;

inline constexpr std::string_view kInitMarkName = "kubelet-init";

// Leaves the mark of the program that runs in `folder`, which is made when missing. Whoever reads
// sees the mark before or this one, whole; nothing that stands in its place is followed or opened.
// It is not synced: what it says is over with the boot.
Status leave_init_mark(const std::string& folder);

// kCorrupt when what is there is no mark: a link, a folder, a pipe, too long, or no text.
Result<InitMark> read_init_mark(const std::string& folder);

}  // namespace flexlocal::engine
