#include "flexvolume/people/lvm_facts.h"

#include <climits>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"

namespace flexlocal::people {
namespace {

Error damaged(JsonView row, std::string_view column) {
  return Error(ErrorCode::kCorrupt, concat("LVM's report: column ", column, " is \"",
                                           printable(row[column].text(), 40), '"'));
}

Status read_number(JsonView row, std::string_view column, unsigned long long most,
                   unsigned long long& out) {
  if (!parse_number(row[column].text(), most, out)) return damaged(row, column);
  return {};
}

Status read_bytes(JsonView row, std::string_view column, Bytes& out) {
  unsigned long long count = 0;
  if (auto read = read_number(row, column, kMostBytes.count(), count); !read) return read;
  out = Bytes(count);
  return {};
}

Status read_count(JsonView row, std::string_view column, unsigned& out) {
  unsigned long long count = 0;
  if (auto read = read_number(row, column, UINT_MAX, count); !read) return read;
  out = static_cast<unsigned>(count);
  return {};
}

// "12.34" -> 12; empty for what has none.
Status read_percent(JsonView row, std::string_view column, std::optional<unsigned>& out) {
  const std::string_view text = row[column].text();
  if (text.empty()) return {};
  unsigned long long whole = 0;
  if (!parse_number(text.substr(0, text.find('.')), 100, whole)) return damaged(row, column);
  out = static_cast<unsigned>(whole);
  return {};
}

Result<GroupFact> parse_group(JsonView row) {
  GroupFact group;
  group.name = row["vg_name"].text();
  for (const auto& [column, into] : {std::pair<std::string_view, Bytes&>("vg_size", group.size),
                                     {"vg_free", group.free},
                                     {"vg_extent_size", group.extent}})
    if (auto read = read_bytes(row, column, into); !read) return read.error();
  if (auto read = read_count(row, "pv_count", group.disks); !read) return read.error();
  if (auto read = read_count(row, "vg_missing_pv_count", group.missing_disks); !read)
    return read.error();
  return group;
}

Result<LogicalVolumeFact> parse_volume(JsonView row) {
  LogicalVolumeFact volume;
  volume.group = row["vg_name"].text();
  volume.name = row["lv_name"].text();
  volume.kind = row["segtype"].text();
  volume.zeroes = row["zero"].text() == "zero";
  if (auto read = read_percent(row, "data_percent", volume.data_percent); !read)
    return read.error();
  if (auto read = read_percent(row, "metadata_percent", volume.metadata_percent); !read)
    return read.error();
  return volume;
}

// {"report":[{"vg":[{...}]}]}
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

}  // namespace

Result<std::vector<GroupFact>> parse_group_facts(std::string_view report) {
  return parse_rows<GroupFact>(report, "vg", parse_group);
}

Result<std::vector<LogicalVolumeFact>> parse_volume_facts(std::string_view report) {
  return parse_rows<LogicalVolumeFact>(report, "lv", parse_volume);
}

}  // namespace flexlocal::people
