#include "flexvolume/engine/lvm/mapper_rows.h"

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

// No name has it (dmsetup's own rule: names are those of files in /dev/mapper).
constexpr char kBetween = '/';
constexpr std::string_view kNone = "No devices found";

}  // namespace

std::vector<std::string> mapper_rows_arguments() {
  return {"info",
          "-c",
          "--noheadings",
          "--separator",
          std::string(1, kBetween),
          "-o",
          "name,suspended,tables_loaded"};
}

Result<std::vector<MapperRow>> parse_mapper_rows(std::string_view text) {
  std::vector<MapperRow> rows;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty() || trim(line) == kNone) continue;
    const auto cells = split(trim(line), kBetween);
    if (cells.size() != 3 || cells[0].empty())
      return Error(ErrorCode::kCorrupt,
                   concat("dmsetup's line \"", printable(line, 80), "\" is none of a device"));
    rows.push_back({std::string(cells[0]), trim(cells[1]) == "Suspended",
                    trim(cells[2]) == "Both" || trim(cells[2]) == "Inactive"});
  }
  return rows;
}

}  // namespace flexlocal::engine
