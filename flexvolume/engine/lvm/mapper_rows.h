// What device-mapper says of all its devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/result.h"

namespace flexlocal::engine {

struct MapperRow {
  std::string name;  // as "data-pvc--1", see device_path()
  bool suspended = false;
  bool has_inactive_table = false;  // loaded, and taken up by the next resume

  // Some command is at work on the device, or was killed there.
  bool unfinished() const { return suspended || has_inactive_table; }
};

// The arguments of dmsetup for parse_mapper_rows().
std::vector<std::string> mapper_rows_arguments();
// kCorrupt when it is not that. A host without devices has no rows.
Result<std::vector<MapperRow>> parse_mapper_rows(std::string_view text);

}  // namespace flexlocal::engine
