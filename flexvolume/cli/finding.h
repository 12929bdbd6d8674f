// What a look at the node found, and what a person does about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/json.h"

namespace flexlocal::cli {

enum class Level {
  kOk,
  kWarning,  // mounts work; something is not as it should be
  kError     // some or all mounts fail, or data is in danger
};
std::string_view to_string(Level level);

struct Finding {
  std::string check;  // stable, for programs: "pool.default.volume-group"
  Level level = Level::kOk;
  std::string found;
  std::string advice{};  // what to do; empty when ok
};

std::size_t count(const std::vector<Finding>& findings, Level level);

// One aligned line a finding, and below it what to do. Made of printable characters whatever the
// findings hold: they quote what somebody else wrote.
std::string to_text(const std::vector<Finding>& findings);

// An array of {"check", "level", "found", "advice"}.
void write_json(JsonWriter& json, const std::vector<Finding>& findings);

}  // namespace flexlocal::cli
