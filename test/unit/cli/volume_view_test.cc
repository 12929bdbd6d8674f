#include "flexvolume/cli/volume_view.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "flexvolume/cli/examination.h"
#include "flexvolume/cli/listing.h"
#include "flexvolume/cli/status.h"
#include "test/unit/cli/samples.h"

namespace flexlocal::cli {
namespace {

using engine::RecordState;

std::optional<Usage> no_usage(const std::string&) { return std::nullopt; }

engine::VolumeName name() { return *engine::VolumeName::parse(kVolume); }

NodeView node_with(std::vector<RecordEntry> records, engine::Inventory inventory,
                   std::vector<engine::MountEntry> mounts = {}) {
  return NodeView{std::move(records), std::move(inventory), std::move(mounts)};
}

engine::Inventory inventory_of(std::vector<engine::LogicalVolume> volumes) {
  engine::Inventory inventory;
  inventory.volumes = std::move(volumes);
  return inventory;
}

VolumeView only(const std::vector<VolumeView>& views) {
  REQUIRE(views.size() == 1);
  return views.front();
}

engine::Record record_in(RecordState state) {
  engine::Record record = example_record();
  record.state = state;
  return record;
}

TEST_CASE("record, logical volume and mounts of one name are one volume") {
  const auto views = merge(node_with({{name(), example_record()}}, inventory_of({example_lv()}),
                                     {example_mount("77aa"), example_mount("88bb")}),
                           [](const std::string&) {
                             return Usage{kGiB, kMiB};
                           });
  const VolumeView view = only(views);
  CHECK(state_of(view) == "ready");
  CHECK(claim_namespace_of(view) == "shop");
  CHECK(claim_uid_of(view) == kClaim);
  CHECK(backend_of(view) == "lvm");
  CHECK(pool_of(view) == "default");
  CHECK(group_of(view) == "data");
  CHECK(used_of(view) == kMiB);
  REQUIRE(view.mounts.size() == 2);
  CHECK(view.mounts[1].pod_uid == "88bb");
  CHECK(examine(view).size() == 2);
  CHECK(count(examine(view), Level::kOk) == 2);
}

TEST_CASE("every way in which the sources disagree has a state of its own") {
  const auto lv = inventory_of({example_lv()});
  const Error torn(ErrorCode::kCorrupt, "torn");
  for (const auto& [node, state] :
       {std::pair(node_with({{name(), record_in(RecordState::kIntent)}}, {}), "intent"),
        {node_with({{name(), record_in(RecordState::kNew)}}, lv), "new"},
        {node_with({{name(), record_in(RecordState::kWiping)}}, lv), "wiping"},
        {node_with({{name(), example_record()}}, {}), "no-volume"},
        {node_with({}, lv), "no-record"},
        {node_with({{name(), torn}}, lv), "bad-record"},
        {node_with({{name(), torn}}, {}), "bad-record"},
        {node_with({}, {}, {example_mount()}), "mount-only"}}) {
    const VolumeView view = only(merge(node, no_usage));
    CHECK(state_of(view) == state);
  }
}

TEST_CASE("what the policy Retain keeps is called so, until it is mounted or removed") {
  engine::LogicalVolume kept = example_lv();
  kept.ownership->retained = true;
  const auto lv = inventory_of({kept});
  engine::Inventory folders;
  folders.holdings = {{name().text(), "quota:small", kGiB}};
  engine::Record quota = example_record();
  quota.spec.backend = engine::Backend::kQuota;
  quota.volume_group.clear();
  quota.project_id = 7;
  quota.retained = true;
  for (const auto& [node, state] :
       {std::pair(node_with({{name(), example_record()}}, lv), "retained"),
        {node_with({}, lv), "retained"},
        {node_with({{name(), quota}}, folders), "retained"},
        {node_with({{name(), quota}}, {}), "no-volume"},
        {node_with({{name(), example_record()}}, lv, {example_mount()}), "ready"},
        {node_with({{name(), record_in(RecordState::kWiping)}}, lv), "wiping"}}) {
    const VolumeView view = only(merge(node, no_usage));
    CHECK(state_of(view) == state);
  }
  const auto findings = examine(only(merge(node_with({}, lv), no_usage)));
  CHECK(std::any_of(findings.begin(), findings.end(),
                    [](const Finding& finding) { return finding.check == "retained"; }));
}

TEST_CASE("a host whose LVM cannot be asked is not said to have lost its volumes") {
  const NodeView node{{{name(), example_record()}}, Error(ErrorCode::kFailed, "vgs"), {}};
  const VolumeView view = only(merge(node, no_usage));
  CHECK(state_of(view) == "ready");
  CHECK(count(examine(view), Level::kError) == 0);
  CHECK(count(examine(view), Level::kWarning) == 1);
}

TEST_CASE("a record on one group and a volume on another are two volumes") {
  engine::LogicalVolume elsewhere = example_lv();
  elsewhere.group = "other";
  const auto views =
      merge(node_with({{name(), example_record()}}, inventory_of({elsewhere})), no_usage);
  REQUIRE(views.size() == 2);
  CHECK(state_of(views[0]) == "no-volume");
  CHECK(state_of(views[1]) == "no-record");
}

TEST_CASE("a quota folder and its record are one volume, listed with its pool") {
  engine::Record record = example_record();
  record.spec.backend = engine::Backend::kQuota;
  record.project_id = 7;
  record.volume_group.clear();
  engine::Inventory inventory;
  inventory.holdings = {{std::string(kVolume), "quota:fast", kGiB},
                        {"pvc-other", "group:data", kGiB}};
  engine::MountEntry mount = example_mount();
  mount.source = "/dev/sdb1";
  const VolumeView view = only(merge(node_with({{name(), record}}, inventory, {mount}), no_usage));
  CHECK(state_of(view) == "ready");
  CHECK(backend_of(view) == "quota");
  CHECK(pool_of(view) == "fast");
  CHECK(device_of(view).empty());
  CHECK(view.mounts.size() == 1);
}

TEST_CASE("a thin volume is one without a record as well") {
  engine::LogicalVolume thin = example_lv();
  thin.thin_pool = "tp";
  CHECK(backend_of(only(merge(node_with({}, inventory_of({thin})), no_usage))) == "thin");
}

TEST_CASE("a mount outside kubelet's folders is seen by its device, strangers' are not") {
  engine::MountEntry mount = example_mount();
  mount.mount_point = "/mnt/rescue";
  engine::MountEntry stranger{"8:1", "/", "/home", "ext4", "/dev/sda1", "rw"};
  const VolumeView view =
      only(merge(node_with({}, inventory_of({example_lv()}), {mount, stranger}), no_usage));
  REQUIRE(view.mounts.size() == 1);
  CHECK(view.mounts[0].path == "/mnt/rescue");
  CHECK(view.mounts[0].pod_uid.empty());
}

TEST_CASE("how much is wiped is of the volume's size, and never above it") {
  VolumeView view{.name = std::string(kVolume)};
  CHECK_FALSE(wiped_percent(view).has_value());
  view.record = record_in(RecordState::kWiping);
  CHECK(wiped_percent(view) == 0U);
  view.record->wiped = Bytes(kGiB.count() / 8 * 3);
  CHECK(wiped_percent(view) == 37U);
  view.lv = example_lv();
  CHECK(state_text(view) == "wiping 37%");
  view.record->wiped = Bytes(9 * kGiB.count());
  CHECK(wiped_percent(view) == 100U);
}

// What is said of one volume, and how bad it is.
struct Row {
  std::string_view what;
  VolumeView view;
  std::string_view check;
  Level level;
  std::string_view said;
};

VolumeView view_of(std::optional<engine::Record> record, std::optional<engine::LogicalVolume> lv) {
  return {.name = std::string(kVolume), .record = std::move(record), .lv = std::move(lv)};
}

std::vector<Row> rows() {
  engine::LogicalVolume strange = example_lv();
  strange.ownership.reset();
  engine::LogicalVolume other_device = example_lv();
  other_device.device_uuid = "LVM-zz";
  engine::LogicalVolume other_cluster = example_lv();
  other_cluster.ownership->cluster_id = "99999999-2222-4333-8444-555555555555";
  engine::LogicalVolume fresh = example_lv();
  fresh.ownership->ready = false;
  engine::Record grown = example_record();
  grown.grow_file_system = true;
  engine::LogicalVolume other_copy = example_lv();
  other_copy.ownership->copy = "0000000000000000";
  engine::Record unclaimed = example_record();
  unclaimed.claim_uid.clear();
  VolumeView full = view_of(example_record(), example_lv());
  full.mounts = {{"/x", "77aa", Usage{kGiB, Bytes(kGiB.count() / 100 * 95)}}};
  VolumeView torn = view_of(std::nullopt, example_lv());
  torn.record_error = "record /x: torn";
  return {
      {"gone", view_of(example_record(), std::nullopt), "volume", Level::kError,
       "bring back the disk"},
      {"not made yet", view_of(record_in(RecordState::kIntent), std::nullopt), "volume", Level::kOk,
       ""},
      {"removed", view_of(record_in(RecordState::kWiping), std::nullopt), "volume", Level::kOk, ""},
      {"a stranger's", view_of(std::nullopt, strange), "volume", Level::kError, "lvrename"},
      {"lost its record", view_of(std::nullopt, example_lv()), "record", Level::kWarning,
       "from the tags"},
      {"lost its record before it was ready", view_of(std::nullopt, fresh), "record",
       Level::kWarning, "without a record nothing is formatted"},
      {"a torn record", torn, "record", Level::kError, "move the file away"},
      {"another device", view_of(example_record(), other_device), "device", Level::kError,
       "nothing is formatted"},
      {"another copy", view_of(example_record(), other_copy), "copy", Level::kError,
       "lvs -o +lv_tags"},
      {"no claim yet", view_of(unclaimed, example_lv()), "claim", Level::kWarning,
       "completed the record"},
      {"another cluster", view_of(example_record(), other_cluster), "owner", Level::kError,
       "lvs -o +lv_tags"},
      {"a half-grown one", view_of(grown, example_lv()), "growth", Level::kWarning, "grows it"},
      {"a full one", full, "usage", Level::kWarning, "ENOSPC"}};
}

TEST_CASE("what is wrong with a volume is said, with what to do") {
  for (const Row& row : rows()) {
    const auto findings = examine(row.view);
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const Finding& f) { return f.check == row.check; });
    REQUIRE_MESSAGE(found != findings.end(), row.what);
    CHECK_MESSAGE(found->level == row.level, row.what);
    CHECK_MESSAGE(found->advice.find(row.said) != std::string::npos, row.what, ": ", found->advice);
    CHECK_MESSAGE(found->advice.empty() == (row.level == Level::kOk), row.what);
  }
}

TEST_CASE("the list is aligned, with a dash for what is not known") {
  VolumeView mounted = view_of(example_record(), example_lv());
  mounted.mounts = {{"/x", "77aa", Usage{kGiB, kMiB}}, {"/mnt/y", "", std::nullopt}};
  const VolumeView stray{.name = "pvc-x\n"};
  const std::string text = to_text(std::vector<VolumeView>{mounted, stray});
  const auto lines = split(text, '\n');
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with("NAME "));
  CHECK(lines[1] == concat(kVolume, "  shop/", kClaim,
                           "  lvm      default/data  1 GiB  1 MiB  ready       77aa,/mnt/y"));
  CHECK(lines[2].starts_with("pvc-x? "));
  CHECK(lines[2].ends_with("  -             -      -      mount-only  -"));
  CHECK(lines[0].find("MOUNTED") == lines[1].find("77aa"));
}

TEST_CASE("as JSON sizes are numbers and what is not known is null") {
  VolumeView mounted = view_of(example_record(), example_lv());
  mounted.mounts = {{"/x", "77aa", Usage{kGiB, kMiB}}};
  const auto document =
      JsonDocument::parse(to_json({mounted, {.name = "pvc-x"}}, {"no node.conf"}));
  REQUIRE(document.ok());
  const JsonView first = document->root()["volumes"].at(0);
  CHECK(first["name"].text() == kVolume);
  CHECK(first["claimNamespace"].text() == "shop");
  CHECK(first["claimUID"].text() == kClaim);
  CHECK(first["sizeBytes"].integer() == static_cast<std::int64_t>(kGiB.count()));
  CHECK(first["usedBytes"].integer() == static_cast<std::int64_t>(kMiB.count()));
  CHECK(first["mounts"].at(0)["podUID"].text() == "77aa");
  const JsonView second = document->root()["volumes"].at(1);
  std::size_t keys = 0;
  second.for_each_member([&](std::string_view key, JsonView) {
    CHECK_MESSAGE(first[key].exists(), key);
    ++keys;
  });
  CHECK(keys == 14);
  CHECK_FALSE(second["sizeBytes"].integer().has_value());
  CHECK(document->root()["notices"].at(0).text() == "no node.conf");
}

TEST_CASE("the status of a volume shows its sources, and is JSON as well") {
  VolumeView view = view_of(example_record(), example_lv());
  view.record->spec.access_mode = engine::AccessMode::kReadWriteOncePod;
  view.io_limits.write_iops = 100;
  view.io_limits.read_bandwidth = kMiB;
  const std::string text = status_text(view, examine(view));
  for (const std::string_view part :
       {"state         ready", "LV uuid       x-y", "1 GiB (1073741824)",
        "device        /dev/mapper/data-pvc--0b1c2d3e", ", ReadWriteOncePod",
        "I/O limits    write 100 IOPS, read 1 MiB/s"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  const auto document = JsonDocument::parse(status_json(view, examine(view)));
  REQUIRE(document.ok());
  CHECK(document->root()["logicalVolume"]["uuid"].text() == "x-y");
  CHECK(document->root()["logicalVolume"]["ours"].boolean() == true);
  CHECK(document->root()["record"]["state"].text() == "ready");
  CHECK(document->root()["record"]["accessMode"].text() == "ReadWriteOncePod");
  CHECK(document->root()["ioLimits"]["writeIOPS"].integer() == 100);
  CHECK(document->root()["ioLimits"]["readIOPS"].exists());
  CHECK_FALSE(document->root()["ioLimits"]["readIOPS"].integer().has_value());
  CHECK(document->root()["findings"].size() == 2);
}

}  // namespace
}  // namespace flexlocal::cli
