// When an object is to be worked on again.
#pragma once

#include <chrono>
#include <optional>

#include "flexvolume/base/result.h"

namespace flexlocal::provisioner {

// After that time, whatever happens; nullopt: not before something changes.
using RequeueAfter = std::optional<std::chrono::nanoseconds>;

// How a pass ended: with an Error it is tried again by its back-off.
using Requeue = Result<RequeueAfter>;

}  // namespace flexlocal::provisioner
