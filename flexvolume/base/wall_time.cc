#include "flexvolume/base/wall_time.h"

#include <cstdio>
#include <ctime>

namespace flexlocal {

std::string format_wall_time(std::chrono::system_clock::time_point time) {
  using std::chrono::system_clock;
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(time - whole).count();
  const std::time_t seconds = system_clock::to_time_t(whole);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(millis));
  return text;
}

}  // namespace flexlocal
