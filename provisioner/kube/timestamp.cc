#include "provisioner/kube/timestamp.h"

#include <cstdio>
#include <ctime>

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

constexpr std::size_t kSecondsLength = 19;  // "2024-05-01T10:00:00"
// 2200-01-01: nanoseconds in 64 bits end in 2262, and anyone may write a year 9999.
constexpr std::time_t kLatest = 7'258'118'400;

std::string format_seconds(Clock::Wall time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)};
}

// ".25Z" or "Z"; nullopt on anything else.
std::optional<std::chrono::nanoseconds> parse_fraction(std::string_view text) {
  if (text == "Z") return std::chrono::nanoseconds(0);
  if (text.size() < 3 || text.size() > 11 || text.front() != '.' || text.back() != 'Z')
    return std::nullopt;
  std::string digits(text.substr(1, text.size() - 2));
  digits.resize(9, '0');
  unsigned long long nanos = 0;
  if (!parse_number(digits, 999'999'999, nanos)) return std::nullopt;
  return std::chrono::nanoseconds(nanos);
}

}  // namespace

std::string format_time(Clock::Wall time) { return format_seconds(time) + 'Z'; }

std::string format_micro_time(Clock::Wall time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - whole).count();
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06dZ", static_cast<int>(micros));
  return format_seconds(time) + fraction;
}

std::optional<Clock::Wall> parse_time(std::string_view text) {
  if (text.size() <= kSecondsLength) return std::nullopt;
  const std::string head(text.substr(0, kSecondsLength));
  std::tm parts{};
  const char* const end = ::strptime(head.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const auto fraction = parse_fraction(text.substr(kSecondsLength));
  if (!fraction) return std::nullopt;
  const std::time_t seconds = ::timegm(&parts);
  if (seconds < 0 || seconds >= kLatest) return std::nullopt;
  return std::chrono::system_clock::from_time_t(seconds) +
         std::chrono::duration_cast<Clock::Wall::duration>(*fraction);
}

std::optional<Clock::Wall> parse_zoned_time(std::string_view text) {
  constexpr std::size_t kZoneLength = 6;  // "-08:00"
  if (text.ends_with('Z') || text.size() < kSecondsLength + kZoneLength) return parse_time(text);
  const std::string_view zone = text.substr(text.size() - kZoneLength);
  unsigned long long hours = 0;
  unsigned long long minutes = 0;
  if ((zone[0] != '+' && zone[0] != '-') || zone[3] != ':' ||
      !parse_number(zone.substr(1, 2), 23, hours) || !parse_number(zone.substr(4), 59, minutes))
    return std::nullopt;
  const auto there = parse_time(concat(text.substr(0, text.size() - kZoneLength), 'Z'));
  if (!there) return std::nullopt;
  const auto east = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return zone[0] == '+' ? *there - east : *there + east;
}

}  // namespace flexlocal::kube
