#include "flexvolume/engine/lvm/lvm_rows.h"

#include <algorithm>
#include <climits>

namespace flexlocal::engine {
namespace {

constexpr unsigned kMostPercent = 100;

Error damaged(JsonView row, std::string_view column) {
  return Error(ErrorCode::kCorrupt, concat("LVM's report: column ", column, " is \"",
                                           printable(row[column].text(), 40), '"'));
}

}  // namespace

Result<Bytes> bytes_in(JsonView row, std::string_view column) {
  unsigned long long count = 0;
  if (!parse_number(row[column].text(), kMostBytes.count(), count)) return damaged(row, column);
  return Bytes(count);
}

Result<unsigned> count_in(JsonView row, std::string_view column) {
  unsigned long long count = 0;
  if (!parse_number(row[column].text(), UINT_MAX, count)) return damaged(row, column);
  return static_cast<unsigned>(count);
}

bool is_set(JsonView row, std::string_view column) {
  const std::string_view text = row[column].text();
  return text == column || text == "1";
}

Result<std::optional<unsigned>> percent_in(JsonView row, std::string_view column) {
  const std::string_view text = row[column].text();
  if (text.empty()) return std::optional<unsigned>();
  const std::size_t dot = text.find('.');
  unsigned long long whole = 0;
  if (!parse_number(text.substr(0, dot), kMostPercent, whole)) return damaged(row, column);
  const bool more = dot != std::string_view::npos &&
                    text.find_first_not_of('0', dot + 1) != std::string_view::npos;
  return std::optional(std::min(static_cast<unsigned>(whole) + (more ? 1 : 0), kMostPercent));
}

}  // namespace flexlocal::engine
