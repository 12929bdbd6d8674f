// Times as the API server writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/clock.h"

namespace flexlocal::kube {

// metav1.Time, "2024-05-01T10:00:00Z", and metav1.MicroTime, "2024-05-01T10:00:00.000000Z".
std::string format_time(Clock::Wall time);
std::string format_micro_time(Clock::Wall time);

// Either of them, in UTC as the API server always writes them; nullopt on anything else, and
// before 1970 or after 2199.
std::optional<Clock::Wall> parse_time(std::string_view text);

// The same with another zone allowed, "2018-03-05T17:30:20-08:00", as other programs write them.
std::optional<Clock::Wall> parse_zoned_time(std::string_view text);

}  // namespace flexlocal::kube
