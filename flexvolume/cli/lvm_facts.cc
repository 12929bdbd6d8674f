#include "flexvolume/cli/lvm_facts.h"

#include "flexvolume/engine/lvm/lvm_rows.h"

namespace flexlocal::cli {
namespace {

using engine::parse_rows;

Result<GroupFact> parse_group(JsonView row) {
  GroupFact group;
  group.name = row["vg_name"].text();
  for (const auto& [column, into] : {std::pair<std::string_view, Bytes&>("vg_size", group.size),
                                     {"vg_free", group.free},
                                     {"vg_extent_size", group.extent}}) {
    const auto read = engine::bytes_in(row, column);
    if (!read) return read.error();
    into = *read;
  }
  for (const auto& [column, into] :
       {std::pair<std::string_view, unsigned&>("pv_count", group.disks),
        {"vg_missing_pv_count", group.missing_disks}}) {
    const auto read = engine::count_in(row, column);
    if (!read) return read.error();
    into = *read;
  }
  return group;
}

Result<LogicalVolumeFact> parse_volume(JsonView row) {
  const auto data = engine::percent_in(row, "data_percent");
  if (!data) return data.error();
  const auto metadata = engine::percent_in(row, "metadata_percent");
  if (!metadata) return metadata.error();
  LogicalVolumeFact volume;
  volume.group = row["vg_name"].text();
  volume.name = row["lv_name"].text();
  volume.kind = row["segtype"].text();
  volume.zeroes = engine::is_set(row, "zero");
  volume.data_percent = *data;
  volume.metadata_percent = *metadata;
  return volume;
}

}  // namespace

Result<std::vector<GroupFact>> parse_group_facts(std::string_view report) {
  return parse_rows<GroupFact>(report, "vg", parse_group);
}

Result<std::vector<LogicalVolumeFact>> parse_volume_facts(std::string_view report) {
  return parse_rows<LogicalVolumeFact>(report, "lv", parse_volume);
}

}  // namespace flexlocal::cli
