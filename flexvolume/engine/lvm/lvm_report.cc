#include "flexvolume/engine/lvm/lvm_report.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/lvm_rows.h"

namespace flexlocal::engine {
namespace {

Result<VolumeGroup> parse_group(JsonView row) {
  const auto size = bytes_in(row, "vg_size");
  if (!size) return size.error();
  const auto free = bytes_in(row, "vg_free");
  if (!free) return free.error();
  const auto extent = bytes_in(row, "vg_extent_size");
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
  const auto size = bytes_in(row, "lv_size");
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
  // A cached volume names the pool of its cache there.
  const auto layout = split(row["lv_layout"].text(), ',');
  const auto is = [&](std::string_view kind) {
    return std::find(layout.begin(), layout.end(), kind) != layout.end();
  };
  if (is("thin")) volume.thin_pool = row["pool_lv"].text();
  volume.cached = is("cache") || is("writecache");
  // Of a thin volume that stands on it as its external origin, too (man lvs, lv_role).
  const std::string_view role = row["lv_role"].text();
  volume.has_snapshots =
      role.find("thickorigin") != role.npos || role.find("extthinorigin") != role.npos;
  const auto tags = split(row["lv_tags"].text(), ',');
  volume.ownership = parse_tags(tags);
  volume.owned = std::find(tags.begin(), tags.end(), kOwnerTag) != tags.end();
  return volume;
}

// A thin pool, or a volume in one.
struct ThinRow {
  std::string name;
  std::string pool;
  Bytes size;
  bool zeroing = false;
  std::optional<unsigned> data_percent;
  std::optional<unsigned> metadata_percent;
  std::string health;
  bool skips_activation = false;
};

Result<ThinRow> parse_thin_row(JsonView row) {
  const auto size = bytes_in(row, "lv_size");
  if (!size) return size.error();
  const auto data = percent_in(row, "data_percent");
  if (!data) return data.error();
  const auto metadata = percent_in(row, "metadata_percent");
  if (!metadata) return metadata.error();
  return ThinRow{std::string(row["lv_name"].text()),
                 std::string(row["pool_lv"].text()),
                 *size,
                 is_set(row, "zero"),
                 *data,
                 *metadata,
                 std::string(row["lv_health_status"].text()),
                 !row["lv_skip_activation"].text().empty()};
}

ThinPool pool_of(const ThinRow& found) {
  return {.size = found.size,
          .active = found.data_percent && found.metadata_percent,
          .data_percent = found.data_percent.value_or(0),
          .metadata_percent = found.metadata_percent.value_or(0),
          .zeroing = found.zeroing,
          .promised = Bytes(0),
          .health = found.health,
          .skips_activation = found.skips_activation};
}

// A name as it is told to LVM, which reports hidden volumes in brackets.
std::string_view without_brackets(std::string_view name) {
  if (!name.starts_with('[') || !name.ends_with(']')) return name;
  return name.substr(1, name.size() - 2);
}

struct ComponentRow {
  std::string name;
  std::string parent;
  bool idle = false;
  bool hidden = false;
};

// Of a device that has got no table yet, so that nothing can use it, LVM knows neither how it is
// open nor who may write to it.
bool is_idle(JsonView row) {
  if (row["lv_active"].text() != "active") return false;
  const std::string_view open = row["lv_device_open"].text();
  const std::string_view permissions = row["lv_permissions"].text();
  return (open.empty() && permissions == "writeable") ||
         (open == "unknown" && permissions == "unknown");
}

Result<ComponentRow> parse_component(JsonView row) {
  return ComponentRow{std::string(without_brackets(row["lv_name"].text())),
                      std::string(without_brackets(row["lv_parent"].text())), is_idle(row),
                      row["lv_name"].text().starts_with('[')};
}

Result<unsigned> parse_id(JsonView row) { return count_in(row, kThinIdColumn); }

Result<std::string> parse_cache_mode(JsonView row) {
  return std::string(row[kCacheModeColumn].text());
}

Result<GroupDisks> parse_group_disk(JsonView row) {
  const auto seqno = count_in(row, "vg_seqno");
  if (!seqno) return seqno.error();
  return GroupDisks{
      std::string(row["vg_uuid"].text()), *seqno, {std::string(row["pv_name"].text())}};
}

Result<Bytes> parse_disk(JsonView row) { return bytes_in(row, "pv_free"); }

}  // namespace

Result<std::vector<VolumeGroup>> parse_volume_groups(std::string_view report) {
  return parse_rows<VolumeGroup>(report, "vg", parse_group);
}

Result<std::vector<LogicalVolume>> parse_logical_volumes(std::string_view report) {
  return parse_rows<LogicalVolume>(report, "lv", parse_volume);
}

Result<Inventory> parse_inventory(std::string_view report) {
  auto groups = parse_rows<VolumeGroup>(report, "vg", parse_group);
  if (!groups) return groups.error();
  auto volumes = parse_rows<LogicalVolume>(report, "vg", parse_volume);
  if (!volumes) return volumes.error();
  Inventory inventory;
  // A row for each volume, in whatever order lvm.conf says.
  for (VolumeGroup& group : *groups) {
    const bool known = std::any_of(inventory.groups.begin(), inventory.groups.end(),
                                   [&](const VolumeGroup& g) { return g.name == group.name; });
    if (!known) inventory.groups.push_back(std::move(group));
  }
  for (LogicalVolume& volume : *volumes) {
    if (!volume.ownership) continue;
    auto& into = volume.ownership->shared ? inventory.shared : inventory.volumes;
    into.push_back(std::move(volume));
  }
  return inventory;
}

Result<std::vector<std::string>> parse_idle_components(std::string_view report,
                                                       std::string_view volume) {
  const auto rows = parse_rows<ComponentRow>(report, "lv", parse_component);
  if (!rows) return rows.error();
  std::vector<std::string> idle;
  std::vector<std::string> within = {std::string(volume)};
  for (std::size_t at = 0; at < within.size() && at <= rows->size(); ++at)
    for (const ComponentRow& row : *rows) {
      if (row.parent != within[at]) continue;
      within.push_back(row.name);
      if (row.idle) idle.push_back(row.name);
    }
  return idle;
}

Result<bool> parse_half_made(std::string_view report, std::string_view volume) {
  const auto rows = parse_rows<ComponentRow>(report, "lv", parse_component);
  if (!rows) return rows.error();
  // LVM tells no parent of what is not hidden, and takes such names from nobody (man lvcreate).
  const std::string start = concat(volume, "_rmeta_");
  return std::any_of(rows->begin(), rows->end(), [&](const ComponentRow& row) {
    return row.name.starts_with(start) && !row.hidden &&
           row.name.find_first_not_of("0123456789", start.size()) == std::string::npos;
  });
}

Result<bool> parse_writes_through(std::string_view report) {
  const auto modes = parse_rows<std::string>(report, "lv", parse_cache_mode);
  if (!modes) return modes.error();
  return !modes->empty() && std::all_of(modes->begin(), modes->end(), [](const std::string& mode) {
    return mode == "writethrough" || mode == "passthrough";
  });
}

Result<unsigned> parse_thin_id(std::string_view report) {
  const auto ids = parse_rows<unsigned>(report, "lv", parse_id);
  if (!ids) return ids.error();
  if (ids->empty()) return Error(ErrorCode::kNotFound, "the thin volume is gone");
  return ids->front();
}

Result<std::vector<Bytes>> parse_disks(std::string_view report) {
  return parse_rows<Bytes>(report, "vg", parse_disk);
}

Result<GroupDisks> parse_group_disks(std::string_view report) {
  auto rows = parse_rows<GroupDisks>(report, "vg", parse_group_disk);
  if (!rows) return rows.error();
  if (rows->empty()) return Error(ErrorCode::kNotFound, "the volume group is gone");
  GroupDisks all = std::move(rows->front());
  for (std::size_t i = 1; i < rows->size(); ++i) all.names.push_back((*rows)[i].names.front());
  return all;
}

Result<ThinPool> parse_thin_pool(std::string_view report, std::string_view name) {
  const auto rows = parse_rows<ThinRow>(report, "lv", parse_thin_row);
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
