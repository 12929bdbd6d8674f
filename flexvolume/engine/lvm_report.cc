#include "flexvolume/engine/lvm_report.h"

#include <algorithm>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

Result<Bytes> bytes_of(JsonView row, std::string_view column) {
  unsigned long long count = 0;
  if (!parse_number(row[column].text(), kMostBytes.count(), count))
    return Error(ErrorCode::kCorrupt, concat("LVM's report: column ", column, " is \"",
                                             printable(row[column].text(), 40), '"'));
  return Bytes(count);
}

// {"report":[{"vg":[{...}]}]}: the rows of the one table.
template <typename Row>
Result<std::vector<Row>> rows_of(const JsonDocument& document, std::string_view table,
                                 Result<Row> (*parse_row)(JsonView)) {
  const JsonView rows = document.root()["report"].at(0)[table];
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

template <typename Row>
Result<std::vector<Row>> parse_report(std::string_view report, std::string_view table,
                                      Result<Row> (*parse_row)(JsonView)) {
  const auto document = JsonDocument::parse(report);
  if (!document)
    return Error(ErrorCode::kCorrupt, concat("LVM's report: ", document.error().message()));
  return rows_of<Row>(*document, table, parse_row);
}

Result<VolumeGroup> parse_group(JsonView row) {
  const auto size = bytes_of(row, "vg_size");
  if (!size) return size.error();
  const auto free = bytes_of(row, "vg_free");
  if (!free) return free.error();
  const auto extent = bytes_of(row, "vg_extent_size");
  if (!extent) return extent.error();
  const std::string name(row["vg_name"].text());
  if (name.empty()) return Error(ErrorCode::kCorrupt, "LVM's report: a group without name");
  return VolumeGroup{name, *size, *free, *extent};
}

std::string without_hyphens(std::string_view uuid) {
  std::string out(uuid);
  std::erase(out, '-');
  return out;
}

Result<LogicalVolume> parse_volume(JsonView row) {
  const auto size = bytes_of(row, "lv_size");
  if (!size) return size.error();
  LogicalVolume volume;
  volume.group = row["vg_name"].text();
  volume.name = row["lv_name"].text();
  volume.uuid = row["lv_uuid"].text();
  if (volume.group.empty() || volume.name.empty() || volume.uuid.empty())
    return Error(ErrorCode::kCorrupt, "LVM's report: a volume without name or uuid");
  volume.device_uuid =
      concat("LVM-", without_hyphens(row["vg_uuid"].text()), without_hyphens(volume.uuid));
  volume.size = *size;
  volume.active = row["lv_active"].text().starts_with("active");
  // Anything but a clear "not open" counts as open. It is "unknown" of an LV that has no device,
  // and then lv_active is empty; without device-mapper both are "unknown".
  const bool has_device = !row["lv_active"].text().empty();
  volume.open = has_device && !row["lv_device_open"].text().empty();
  volume.thin_pool = row["pool_lv"].text();
  volume.ownership = parse_tags(split(row["lv_tags"].text(), ','));
  return volume;
}

// "12.34" -> 13; an empty column, as of an inactive pool, is no percentage.
Result<unsigned> percent_of(JsonView row, std::string_view column) {
  const std::string_view text = row[column].text();
  const std::size_t dot = text.find('.');
  unsigned long long whole = 0;
  if (!parse_number(text.substr(0, dot), 100, whole))
    return Error(ErrorCode::kUnavailable, concat("LVM's report: column ", column, " is \"",
                                                 printable(text, 40), "\"; is the pool active?"));
  const bool more = dot != std::string_view::npos &&
                    text.find_first_not_of('0', dot + 1) != std::string_view::npos;
  return static_cast<unsigned>(whole) + (more ? 1 : 0);
}

struct ThinRow {
  std::string name;
  std::string pool;
  Bytes size;
  JsonView row;
};

Result<ThinRow> parse_thin_row(JsonView row) {
  const auto size = bytes_of(row, "lv_size");
  if (!size) return size.error();
  return ThinRow{std::string(row["lv_name"].text()), std::string(row["pool_lv"].text()), *size,
                 row};
}

Result<ThinPool> pool_of(const ThinRow& found) {
  const auto data = percent_of(found.row, "data_percent");
  if (!data) return data.error();
  const auto metadata = percent_of(found.row, "metadata_percent");
  if (!metadata) return metadata.error();
  return ThinPool{found.size, *data, *metadata, !found.row["zero"].text().empty(), Bytes(0)};
}

Result<Bytes> parse_disk(JsonView row) { return bytes_of(row, "pv_free"); }

}  // namespace

Result<std::vector<VolumeGroup>> parse_volume_groups(std::string_view report) {
  return parse_report<VolumeGroup>(report, "vg", parse_group);
}

Result<std::vector<LogicalVolume>> parse_logical_volumes(std::string_view report) {
  return parse_report<LogicalVolume>(report, "lv", parse_volume);
}

Result<Inventory> parse_inventory(std::string_view report) {
  auto groups = parse_report<VolumeGroup>(report, "vg", parse_group);
  if (!groups) return groups.error();
  auto volumes = parse_report<LogicalVolume>(report, "vg", parse_volume);
  if (!volumes) return volumes.error();
  Inventory inventory;
  for (VolumeGroup& group : *groups)
    if (inventory.groups.empty() || inventory.groups.back().name != group.name)
      inventory.groups.push_back(std::move(group));
  std::copy_if(volumes->begin(), volumes->end(), std::back_inserter(inventory.volumes),
               [](const LogicalVolume& volume) { return volume.ownership.has_value(); });
  return inventory;
}

Result<std::vector<Bytes>> parse_disks(std::string_view report) {
  return parse_report<Bytes>(report, "vg", parse_disk);
}

Result<ThinPool> parse_thin_pool(std::string_view report, std::string_view name) {
  const auto document = JsonDocument::parse(report);
  if (!document)
    return Error(ErrorCode::kCorrupt, concat("LVM's report: ", document.error().message()));
  const auto rows = rows_of<ThinRow>(*document, "lv", parse_thin_row);
  if (!rows) return rows.error();
  Result<ThinPool> pool =
      Error(ErrorCode::kNotFound, concat("there is no thin pool \"", name, '"'));
  Bytes promised;
  for (const ThinRow& row : *rows) {
    if (row.pool == name) promised += row.size;
    if (row.name == name && row.pool.empty()) pool = pool_of(row);
  }
  if (pool) pool->promised = promised;
  return pool;
}

}  // namespace flexlocal::engine
