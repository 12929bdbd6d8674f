#include "flexvolume/engine/lvm/lvm.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/run_tool.h"
#include "flexvolume/engine/lvm/lvm_rows.h"

namespace flexlocal::engine {
namespace {

// Where lvm.conf says issue_discards, the whole volume is discarded: as long as in mkfs.
constexpr auto kRemoveDeadline = std::chrono::minutes(10);

// What the host's lvm.conf could change of what is read here (man lvm.conf, lvmconfig
// --type default): how a report shows a column that is yes or no, whether it shows an empty one,
// what stands between tags, ahead of each line and beside the report, and whether JSON has its
// quotes.
constexpr std::string_view kReadable =
    "report/binary_values_as_numeric=0 report/compact_output=0 report/list_item_separator=\",\" "
    "report/quoted=1 report/prefixes=0 report/mark_hidden_devices=1 log/report_command_log=0 "
    "log/verbose=0 log/silent=0 "
    "log/prefix=\"  \" log/command_names=0";

// LVM reads no suspended disk then (man lvm.conf).
constexpr std::string_view kPassOverSuspended = " devices/ignore_suspended_devices=1";

std::string by_uuid(const LogicalVolume& volume) { return concat("lv_uuid=\"", volume.uuid, '"'); }

// As LVM writes it; empty where it is no device of an LV. "LVM-", 32 letters and digits of the
// group and 32 of the LV (lib/uuid/uuid.c, id_write_format).
std::string lv_uuid_of(std::string_view device_uuid) {
  constexpr std::size_t kId = 32;
  constexpr std::string_view kStart = "LVM-";
  if (!device_uuid.starts_with(kStart) || device_uuid.size() != kStart.size() + 2 * kId) return {};
  std::string uuid(device_uuid.substr(kStart.size() + kId));
  const bool plain = std::all_of(uuid.begin(), uuid.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  if (!plain) return {};
  for (const std::size_t at : {6, 11, 16, 21, 26, 31}) uuid.insert(at, 1, '-');
  return uuid;
}

// LVM rounds up to whole extents, and refuses bytes that are no whole sectors (tools/lvmcmdline.c,
// _size_arg): "500M" is none.
std::string size_argument(Bytes size) {
  constexpr Bytes kSector(512);
  return concat(size.rounded_up_to(kSector).count(), 'b');
}

}  // namespace

// LVM takes no more than one --config.
Result<std::string> Lvm::run(std::string_view tool, std::vector<std::string> arguments,
                             std::chrono::milliseconds deadline, std::string_view settings) {
  arguments.insert(arguments.begin(), {"--config", concat(kReadable, settings)});
  return start(tool, std::move(arguments), deadline);
}

Result<std::string> Lvm::start(std::string_view tool, std::vector<std::string> arguments,
                               std::chrono::milliseconds deadline) {
  auto output = run_tool(runner_, tools_, {tool, std::move(arguments), deadline});
  // LVM itself waits for its locks without end (man lvm.conf, wait_for_locks).
  if (!output && output.error().code() == ErrorCode::kDeadline)
    return Error(ErrorCode::kDeadline,
                 concat(output.error().message(), "; another LVM command may hold the lock of a ",
                        "volume group, or a disk may hang: see `lsof /run/lock/lvm`"));
  if (!output) return output.error();
  return std::move(output->out);
}

Result<std::string> Lvm::report(std::string_view tool, std::string_view columns,
                                const std::vector<std::string>& more, std::string_view settings) {
  std::vector<std::string> arguments = {"--reportformat", "json", "--units",           "b",
                                        "--nosuffix",     "-o",   std::string(columns)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(tool, std::move(arguments), kReportDeadline, settings);
}

Result<std::vector<VolumeGroup>> Lvm::groups() {
  const auto report = this->report("vgs", kGroupColumns);
  if (!report) return report.error();
  return parse_volume_groups(*report);
}

Result<VolumeGroup> Lvm::group(std::string_view name) {
  auto all = groups();
  if (!all) return all.error();
  const auto found =
      std::find_if(all->begin(), all->end(), [&](const VolumeGroup& g) { return g.name == name; });
  if (found == all->end())
    return Error(ErrorCode::kNotFound, concat("volume group \"", name,
                                              "\" is not on this node, or its disks do not "
                                              "answer: see `vgs` and `pvs` there"));
  return *found;
}

Result<Inventory> Lvm::inventory(const std::set<std::string>& wanted) {
  const auto report = this->report("vgs", concat(kGroupColumns, ',', kVolumeOnlyColumns));
  if (!report) return report.error();
  auto inventory = parse_inventory(*report);
  if (!inventory) return inventory;
  const auto has_row = [&](const std::string& name) {
    return std::any_of(inventory->groups.begin(), inventory->groups.end(),
                       [&](const VolumeGroup& group) { return group.name == name; });
  };
  if (std::all_of(wanted.begin(), wanted.end(), has_row)) return inventory;
  // Groups without a volume have no row there; one that got its first meanwhile has less free now.
  auto all = groups();
  if (!all) return all.error();
  for (VolumeGroup& group : *all)
    if (!has_row(group.name)) inventory->groups.push_back(std::move(group));
  return inventory;
}

Result<std::vector<LogicalVolume>> Lvm::find_anywhere(const VolumeName& name) {
  const auto report = this->report("lvs", concat("vg_name,vg_uuid,", kVolumeOnlyColumns),
                                   {"--select", concat("lv_name=\"", name.text(), '"')});
  if (!report) return report.error();
  return parse_logical_volumes(*report);
}

Result<std::optional<LogicalVolume>> Lvm::find_device(std::string_view device_uuid) {
  const std::string uuid = lv_uuid_of(device_uuid);
  if (uuid.empty()) return std::optional<LogicalVolume>();
  const auto report = this->report("lvs", concat("vg_name,vg_uuid,", kVolumeOnlyColumns),
                                   {"--select", concat("lv_uuid=\"", uuid, '"')});
  if (!report) return report.error();
  auto found = parse_logical_volumes(*report);
  if (!found) return found.error();
  for (LogicalVolume& volume : *found)
    if (volume.device_uuid == device_uuid) return std::optional(std::move(volume));
  return std::optional<LogicalVolume>();
}

Result<std::optional<LogicalVolume>> Lvm::find(std::string_view group, const VolumeName& name) {
  auto found = find_anywhere(name);
  if (!found) return found.error();
  for (LogicalVolume& volume : *found)
    if (volume.group == group) return std::optional(std::move(volume));
  return std::optional<LogicalVolume>();
}

Result<std::optional<LogicalVolume>> Lvm::find_on(std::string_view group, const VolumeName& name) {
  auto found = on_group(group, {"--select", concat("lv_name=\"", name.text(), '"')});
  if (!found) return found.error();
  if (found->empty()) return std::optional<LogicalVolume>();
  return std::optional(std::move(found->front()));
}

Result<std::vector<LogicalVolume>> Lvm::volumes_on(std::string_view group) {
  return on_group(group, {});
}

Result<std::vector<LogicalVolume>> Lvm::on_group(std::string_view group,
                                                 std::vector<std::string> more) {
  more.insert(more.end(), {"--", std::string(group)});
  const auto report =
      this->report("lvs", concat("vg_name,vg_uuid,", kVolumeOnlyColumns), more, kPassOverSuspended);
  if (!report) return report.error();
  return parse_logical_volumes(*report);
}

Result<std::vector<MapperRow>> Lvm::mapper_rows() {
  auto text = start("dmsetup", mapper_rows_arguments(), kReportDeadline);
  // It fails on a device that goes away between its list and its row.
  if (!text && text.error().code() == ErrorCode::kFailed)
    text = start("dmsetup", mapper_rows_arguments(), kReportDeadline);
  if (!text) return text.error();
  return parse_mapper_rows(*text);
}

Result<std::vector<Bytes>> Lvm::disks(std::string_view group) {
  const auto report = this->report("vgs", kDiskColumns, {"--", std::string(group)});
  if (!report) return report.error();
  return parse_disks(*report);
}

Result<GroupDisks> Lvm::group_disks(std::string_view group) {
  const auto report =
      this->report("vgs", kGroupDiskColumns, {"--", std::string(group)}, kPassOverSuspended);
  if (!report) return report.error();
  return parse_group_disks(*report);
}

Result<ThinPool> Lvm::thin_pool(std::string_view group, std::string_view name) {
  const auto report = this->report("lvs", kThinPoolColumns,
                                   {"--select", concat("vg_name=\"", group, "\" && (lv_name=\"",
                                                       name, "\" || pool_lv=\"", name, "\")")});
  if (!report) return report.error();
  auto pool = parse_thin_pool(*report, name);
  if (!pool) return pool.error().context(concat("volume group \"", group, '"'));
  return pool;
}

Status Lvm::create(const Pool& pool, const VolumeSpec& spec, std::string_view attempt) {
  std::vector<std::string> arguments = {"--yes", "--quiet", "--name", spec.name.text()};
  const std::string size = size_argument(spec.size);
  if (spec.backend == Backend::kThin) {
    arguments.insert(arguments.end(), {"--virtualsize", size, "--thinpool", pool.thin_pool});
  } else {
    arguments.insert(arguments.end(), {"-W", "y", "-Z", "y", "--size", size});
    for (std::string& argument : lvcreate_arguments(pool.layout))
      arguments.push_back(std::move(argument));
  }
  for (std::string& tag : to_tags(spec, attempt)) {
    arguments.emplace_back("--addtag");
    arguments.push_back(std::move(tag));
  }
  arguments.insert(arguments.end(), {"--", pool.volume_group});
  const auto done = run("lvcreate", std::move(arguments));
  return done ? Status() : done.error();
}

Status Lvm::extend(const LogicalVolume& volume, Bytes size) {
  // lvextend takes no --select: that the name is still this volume's is up to the caller, who holds
  // the locks of volume and group.
  return run_on(volume, "lvextend",
                {"--yes", "--quiet", "--size", size_argument(size), "--",
                 concat(volume.group, '/', volume.name)});
}

Status Lvm::activate(const LogicalVolume& volume) { return change(volume, {"-a", "y"}); }

Result<bool> Lvm::is_half_made(const LogicalVolume& volume) {
  const auto report = this->report("lvs", kComponentColumns, {"-a", "--", volume.group});
  if (!report) return report.error();
  return parse_half_made(*report, volume.name);
}

Result<bool> Lvm::writes_through(const LogicalVolume& volume) {
  const auto report = this->report("lvs", kCacheModeColumn, {"--select", by_uuid(volume)});
  if (!report) return report.error();
  return parse_writes_through(*report);
}

Status Lvm::make_node(const LogicalVolume& volume) {
  const std::string path = device_path(volume.group, volume.name);
  const auto made =
      start("dmsetup", {"mknodes", path.substr(path.rfind('/') + 1)}, kChangeDeadline);
  return made ? Status() : made.error();
}

Status Lvm::refresh(const LogicalVolume& volume) {
  return refresh_twice({"--select", by_uuid(volume), "--", volume.group});
}

Status Lvm::refresh_twice(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"--quiet", "--refresh"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const auto first = run("lvchange", all, kChangeDeadline, kPassOverSuspended);
  if (!first && first.error().code() == ErrorCode::kDeadline) return first.error();
  const auto second = run("lvchange", all, kChangeDeadline, kPassOverSuspended);
  return second ? Status() : second.error();
}

Status Lvm::resume_with_live_table(const std::string& mapper_name) {
  for (const char* verb : {"clear", "resume"})
    if (auto done = start("dmsetup", {verb, mapper_name}, kChangeDeadline); !done)
      return done.error();
  return {};
}

Status Lvm::remove(const LogicalVolume& volume) {
  if (!volume.thin_pool.empty())
    if (auto ready = ready_for_removal(volume); !ready) return ready;
  // By uuid, so that an LV which took the name since it was looked at is left alone. One --yes
  // answers "do you really want to remove an active volume"; an open one is refused all the same.
  return run_on(volume, "lvremove",
                {"--yes", "--quiet", "--select", by_uuid(volume), "--", volume.group},
                kRemoveDeadline);
}

// lvremove commits that a thin volume is gone, and fails after that where the pool cannot be told
// (lib/metadata/thin_manip.c, update_thin_pool_lv): what fails must have changed nothing.
Status Lvm::ready_for_removal(const LogicalVolume& volume) {
  auto active = activate_thin_pool(volume.group, volume.thin_pool);
  if (!active) return active;
  const auto pool = thin_pool(volume.group, volume.thin_pool);
  if (!pool) return pool.error();
  // A pool without free data blocks can be told; removal is what gives it some.
  if (pool->active && (pool->health.empty() || pool->health == "out_of_data")) return {};
  return Error(ErrorCode::kUnavailable, concat("thin pool ", volume.group, '/', volume.thin_pool,
                                               " is ", pool->active ? pool->health : "not active",
                                               ", so that nothing in it is removed; see `lvs -o "
                                               "+lv_health_status,lv_skip_activation`"));
}

Status Lvm::tag(const LogicalVolume& volume, std::string_view state) {
  std::vector<std::string> arguments = {"--addtag", std::string(state)};
  for (const std::string_view other : {kNewTag, kReadyTag, kWipingTag})
    if (other != state) arguments.insert(arguments.end(), {"--deltag", std::string(other)});
  return change(volume, std::move(arguments));
}

Status Lvm::tag_retained(const LogicalVolume& volume, Retained retained) {
  const bool add = retained == Retained::kYes;
  return change(volume, {add ? "--addtag" : "--deltag", std::string(kRetainedTag)});
}

Status Lvm::change(const LogicalVolume& volume, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--quiet");
  arguments.insert(arguments.end(), {"--select", by_uuid(volume), "--", volume.group});
  return run_on(volume, "lvchange", std::move(arguments));
}

Status Lvm::activate_thin_pool(std::string_view group, std::string_view name) {
  return run_above(group, name, "lvchange", {"--quiet", "-a", "y", "--", concat(group, '/', name)});
}

Status Lvm::refresh_thin_pool(std::string_view group, std::string_view name) {
  return refresh_twice({"--", concat(group, '/', name)});
}

Status Lvm::send_create_message(const LogicalVolume& volume) {
  const auto report =
      this->report("lvs", kThinIdColumn, {"--select", by_uuid(volume), "--", volume.group});
  if (!report) return report.error();
  const auto id = parse_thin_id(*report);
  if (!id) return id.error();
  if (auto active = activate_thin_pool(volume.group, volume.thin_pool); !active) return active;
  // The layer below the pool's own device takes messages (lib/activate/dev_manager.c); by its name,
  // since a killed command may have left it without a node in /dev. LVM's metadata still say that
  // this message is due, and LVM takes the answer that there is such a volume for a success
  // (libdm/libdm-deptree.c, _thin_pool_node_message).
  const std::string pool = concat(device_path(volume.group, volume.thin_pool), "-tpool");
  const auto sent = start(
      "dmsetup", {"message", pool.substr(pool.rfind('/') + 1), "0", concat("create_thin ", *id)},
      kChangeDeadline);
  return sent ? Status() : sent.error();
}

Status Lvm::run_on(const LogicalVolume& volume, std::string_view tool,
                   std::vector<std::string> arguments, std::chrono::milliseconds deadline) {
  return run_above(volume.group, volume.thin_pool.empty() ? volume.name : volume.thin_pool, tool,
                   std::move(arguments), deadline);
}

Status Lvm::run_above(std::string_view group, std::string_view name, std::string_view tool,
                      std::vector<std::string> arguments, std::chrono::milliseconds deadline) {
  auto done = run(tool, arguments, deadline);
  if (done) return {};
  // What kept this one for its whole deadline would keep the next one as long.
  if (done.error().code() == ErrorCode::kDeadline) return done.error();
  const auto cleared = clear_remains(group, name);
  if (!cleared) return done.error().context(cleared.error().message());
  if (*cleared) done = run(tool, std::move(arguments), deadline);
  return done ? Status() : done.error();
}

// A command that is killed while it activates or deactivates a thin pool or a mirror leaves devices
// of its components without its own on them. LVM never activates what has such components
// (lib/activate/activate.c, lv_component_is_active), and does not take them away with it. Those
// that an administrator made active are read-only, and what is in use has its components open: both
// are left alone.
Result<bool> Lvm::clear_remains(std::string_view group, std::string_view name) {
  const auto report = this->report("lvs", kComponentColumns, {"-a", "--", std::string(group)});
  if (!report) return report.error();
  const auto idle = parse_idle_components(*report, name);
  if (!idle) return idle.error();
  // One that another call cleared or took into use since then is refused: what is run next tells.
  for (const std::string& component : *idle)
    static_cast<void>(run("lvchange", {"--quiet", "-a", "n", "--", concat(group, '/', component)}));
  return !idle->empty();
}

}  // namespace flexlocal::engine
