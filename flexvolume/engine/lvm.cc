#include "flexvolume/engine/lvm.h"

#include <algorithm>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kGroupColumns = "vg_name,vg_uuid,vg_size,vg_free,vg_extent_size";
constexpr std::string_view kVolumeOnlyColumns =
    "lv_name,lv_uuid,lv_size,lv_tags,lv_device_open,lv_active";

// Where lvm.conf says issue_discards, the whole volume is discarded: as long as in mkfs.
constexpr auto kRemoveDeadline = std::chrono::minutes(10);

Result<Bytes> bytes_of(JsonView row, std::string_view column) {
  unsigned long long count = 0;
  if (!parse_number(row[column].text(), kMostBytes.count(), count))
    return Error(ErrorCode::kCorrupt, concat("LVM's report: column ", column, " is \"",
                                             printable(row[column].text(), 40), '"'));
  return Bytes(count);
}

// {"report":[{"vg":[{...}]}]}: the rows of the one table.
template <typename Row>
Result<std::vector<Row>> parse_report(std::string_view report, std::string_view table,
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

Result<VolumeGroup> parse_group(JsonView row) {
  const auto size = bytes_of(row, "vg_size");
  if (!size) return size.error();
  const auto free = bytes_of(row, "vg_free");
  if (!free) return free.error();
  const auto extent = bytes_of(row, "vg_extent_size");
  if (!extent) return extent.error();
  return VolumeGroup{std::string(row["vg_name"].text()), *size, *free, *extent};
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
  // Anything but a clear "not open" counts as open ("unknown" is one of its values).
  volume.open = !row["lv_device_open"].text().empty();
  volume.active = row["lv_active"].text().starts_with("active");
  volume.ownership = parse_tags(split(row["lv_tags"].text(), ','));
  return volume;
}

std::string by_uuid(const LogicalVolume& volume) { return concat("lv_uuid=\"", volume.uuid, '"'); }

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

Result<std::string> Lvm::run(std::string_view tool, std::vector<std::string> arguments,
                             std::chrono::milliseconds deadline) {
  auto path = tools_.path(tool);
  if (!path) return path.error();
  auto output = runner_.run({std::move(*path), std::move(arguments), deadline, {}});
  // LVM itself waits for its locks without end (man lvm.conf, wait_for_locks).
  if (!output && output.error().code() == ErrorCode::kDeadline)
    return Error(ErrorCode::kDeadline,
                 concat(output.error().message(), "; another LVM command may hold the lock of a ",
                        "volume group, or a disk may hang: see `lsof /run/lock/lvm`"));
  if (!output) return output.error();
  if (output->exit_code != 0)
    return Error(ErrorCode::kFailed, concat(tool, " failed (exit code ", output->exit_code,
                                            "): ", printable(trim(output->err), 500)));
  return std::move(output->out);
}

Result<std::vector<VolumeGroup>> Lvm::groups() {
  const auto report = run("vgs", {"--reportformat", "json", "--units", "b", "--nosuffix", "-o",
                                  std::string(kGroupColumns)});
  if (!report) return report.error();
  return parse_volume_groups(*report);
}

Result<VolumeGroup> Lvm::group(std::string_view name) {
  auto all = groups();
  if (!all) return all.error();
  const auto found =
      std::find_if(all->begin(), all->end(), [&](const VolumeGroup& g) { return g.name == name; });
  if (found == all->end())
    return Error(ErrorCode::kNotFound, concat("volume group \"", name, "\" is not on this node"));
  return *found;
}

Result<Inventory> Lvm::inventory() {
  const auto report = run("vgs", {"--reportformat", "json", "--units", "b", "--nosuffix", "-o",
                                  concat(kGroupColumns, ',', kVolumeOnlyColumns)});
  if (!report) return report.error();
  auto inventory = parse_inventory(*report);
  if (!inventory) return inventory;
  // Groups without a volume have no row there; one that got its first meanwhile has less free now.
  auto all = groups();
  if (!all) return all.error();
  for (VolumeGroup& group : *all) {
    const bool known = std::any_of(inventory->groups.begin(), inventory->groups.end(),
                                   [&](const VolumeGroup& g) { return g.name == group.name; });
    if (!known) inventory->groups.push_back(std::move(group));
  }
  return inventory;
}

Result<std::vector<LogicalVolume>> Lvm::find_anywhere(const VolumeName& name) {
  const auto report = run("lvs", {"--reportformat", "json", "--units", "b", "--nosuffix", "-o",
                                  concat("vg_name,vg_uuid,", kVolumeOnlyColumns), "--select",
                                  concat("lv_name=\"", name.text(), '"')});
  if (!report) return report.error();
  return parse_logical_volumes(*report);
}

Result<std::optional<LogicalVolume>> Lvm::find(std::string_view group, const VolumeName& name) {
  auto found = find_anywhere(name);
  if (!found) return found.error();
  for (LogicalVolume& volume : *found)
    if (volume.group == group) return std::optional(std::move(volume));
  return std::optional<LogicalVolume>();
}

Status Lvm::create(std::string_view group, const VolumeSpec& spec, std::string_view attempt) {
  std::vector<std::string> arguments = {"--yes",  "--quiet",
                                        "-W",     "y",
                                        "-Z",     "y",
                                        "--name", spec.name.text(),
                                        "--size", concat(spec.size.count(), 'b')};
  for (std::string& tag : to_tags(spec, attempt)) {
    arguments.emplace_back("--addtag");
    arguments.push_back(std::move(tag));
  }
  arguments.insert(arguments.end(), {"--", std::string(group)});
  const auto done = run("lvcreate", std::move(arguments));
  return done ? Status() : done.error();
}

Status Lvm::activate(const LogicalVolume& volume) {
  const auto done =
      run("lvchange", {"--quiet", "-a", "y", "--select", by_uuid(volume), "--", volume.group});
  return done ? Status() : done.error();
}

Status Lvm::remove(const LogicalVolume& volume) {
  // By uuid, so that an LV which took the name since it was looked at is left alone. One --yes
  // answers "do you really want to remove an active volume"; an open one is refused all the same.
  const auto done =
      run("lvremove", {"--yes", "--quiet", "--select", by_uuid(volume), "--", volume.group},
          kRemoveDeadline);
  return done ? Status() : done.error();
}

Status Lvm::tag_ready(const LogicalVolume& volume) {
  const auto done =
      run("lvchange", {"--quiet", "--addtag", std::string(kReadyTag), "--deltag",
                       std::string(kNewTag), "--select", by_uuid(volume), "--", volume.group});
  return done ? Status() : done.error();
}

}  // namespace flexlocal::engine
