#include "flexvolume/cli/finding.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::cli {
namespace {

// A message of a tool may be long; a line beyond this is no help.
constexpr std::size_t kMostText = 1000;

std::string padded(std::string_view text, std::size_t width) {
  return concat(text, std::string(width - std::min(width, text.size()), ' '));
}

}  // namespace

std::string_view to_string(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      return "error";
  }
  return "error";
}

std::size_t count(const std::vector<Finding>& findings, Level level) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const Finding& finding) { return finding.level == level; }));
}

std::string to_text(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.check.size());
  const std::size_t level_width = to_string(Level::kWarning).size();
  std::string text;
  for (const Finding& finding : findings) {
    text += concat(padded(to_string(finding.level), level_width), "  ",
                   padded(finding.check, width), "  ", printable(finding.found, kMostText), '\n');
    if (!finding.advice.empty())
      text += concat(std::string(level_width + width + 4, ' '), "-> ",
                     printable(finding.advice, kMostText), '\n');
  }
  return text;
}

void write_json(JsonWriter& json, const std::vector<Finding>& findings) {
  json.begin_array();
  for (const Finding& finding : findings)
    json.begin_object()
        .member("check", finding.check)
        .member("level", to_string(finding.level))
        .member("found", printable(finding.found, kMostText))
        .member("advice", printable(finding.advice, kMostText))
        .end_object();
  json.end_array();
}

}  // namespace flexlocal::cli
