// The time of day as logs have it.
#pragma once

#include <chrono>
#include <string>

namespace flexlocal {

// RFC 3339 in UTC with milliseconds: "2024-05-01T10:00:00.250Z".
std::string format_wall_time(std::chrono::system_clock::time_point time);

}  // namespace flexlocal
