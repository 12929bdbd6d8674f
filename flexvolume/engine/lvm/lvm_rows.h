// The tables that LVM's reports are made of, and the cells in their rows.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/json.h"
#include "flexvolume/base/result.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {

// What was printed with --reportformat json --units b --nosuffix, {"report":[{"vg":[{...}]}]}:
// what `parse_row` makes of each row of `table`. kCorrupt when it is not that.
template <typename Row>
Result<std::vector<Row>> parse_rows(std::string_view report, std::string_view table,
                                    Result<Row> (*parse_row)(JsonView)) {
  const auto document = JsonDocument::parse(report);
  if (!document)
    return Error(ErrorCode::kCorrupt, concat("LVM's report: ", document.error().message()));
  const JsonView rows = document->root()["report"].at(0)[table];
  if (!rows.is_array())
    return Error(ErrorCode::kCorrupt, concat("LVM's report has no table ", table));
  std::vector<Row> parsed;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto row = parse_row(rows.at(i));
    if (!row) return row.error();
    parsed.push_back(std::move(*row));
  }
  return parsed;
}

// The cell of a column. kCorrupt when it holds something else.
Result<Bytes> bytes_in(JsonView row, std::string_view column);
Result<unsigned> count_in(JsonView row, std::string_view column);
// Whether a column that is yes or no says yes, which it does by its own name or by "1" (man
// lvm.conf, report/binary_values_as_numeric).
bool is_set(JsonView row, std::string_view column);
// Whole percent, rounded up: "12.34" -> 13. Nothing for an empty cell, as of an inactive pool.
Result<std::optional<unsigned>> percent_in(JsonView row, std::string_view column);

}  // namespace flexlocal::engine
