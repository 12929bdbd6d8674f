#include "flexvolume/cli/diagnosis.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "flexvolume/base/text.h"
#include "test/unit/cli/samples.h"

namespace flexlocal::cli {
namespace {

const Finding* find(const std::vector<Finding>& findings, std::string_view check) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& f) { return f.check == check; });
  return found == findings.end() ? nullptr : &*found;
}

engine::MountEntry xfs_at(const std::string& path, const std::string& options) {
  return {"8:1", "/", path, "xfs", "/dev/sdb1", options};
}

// What is broken, and what must be said of it.
struct Row {
  std::string_view what;
  std::function<void(NodeFacts&)> break_it;
  std::string_view check;
  Level level;
  std::string_view found;   // a part of it
  std::string_view advice;  // a part of it
};

void without_lvm(NodeFacts& facts) {
  facts.config->pools["default"] = {};
  facts.config->pools["default"].quota_path = "/srv/fast";
  for (ToolFact& tool : facts.tools)
    if (tool.package == "lvm2" || tool.package == "dmsetup") tool.runnable = false;
  facts.device_mapper = false;
  facts.lvm_locks.there = false;
  facts.groups = Error(ErrorCode::kNotFound, "vgs is not on this node");
  facts.volumes = Error(ErrorCode::kNotFound, "lvs is not on this node");
  facts.mounts =
      std::vector<engine::MountEntry>{{"7:0", "/", "/srv/fast", "xfs", "/dev/sdb1", "rw,prjquota"}};
}

engine::Pool& pool(NodeFacts& facts) { return facts.config->pools["default"]; }

void with_thin(NodeFacts& facts, LogicalVolumeFact volume) {
  pool(facts).thin_pool = "tp";
  facts.kernel.back().loadable = true;
  facts.volumes->push_back(std::move(volume));
}

void with_quota(NodeFacts& facts, std::vector<engine::MountEntry> mounts) {
  pool(facts).quota_path = "/srv/fast";
  facts.mounts = std::move(mounts);
}

void unrunnable(NodeFacts& facts, std::string_view name) {
  for (ToolFact& tool : facts.tools)
    if (tool.name == name) tool.runnable = false;
}

const std::vector<Row>& node_rows() {
  static const std::vector<Row> rows = {
      {"not root", [](NodeFacts& f) { f.root = false; }, "root", Level::kError, "not running",
       "as root"},
      {"node.conf", [](NodeFacts& f) { f.config = Error(ErrorCode::kNotFound, "it is missing"); },
       "node.conf", Level::kError, "it is missing", "/etc/flexlocal/node.conf"},
      {"a tool", [](NodeFacts& f) { unrunnable(f, "mkfs.xfs"); }, "tools.xfsprogs", Level::kError,
       "mkfs.xfs not to be found", "install the package xfsprogs"},
      {"ext4's tool", [](NodeFacts& f) { unrunnable(f, "mkfs.ext4"); }, "tools.e2fsprogs",
       Level::kWarning, "mkfs.ext4", "e2fsprogs"},
      {"old LVM", [](NodeFacts& f) { f.versions["lvm2"] = "2.02.98(2)"; }, "tools.lvm2",
       Level::kError, "2.02.98", "2.02.158"},
      {"first LVM with JSON", [](NodeFacts& f) { f.versions["lvm2"] = "2.02.158(2)"; },
       "tools.lvm2", Level::kOk, "2.02.158", ""},
      {"LVM that does not say", [](NodeFacts& f) { f.versions.clear(); }, "tools.lvm2", Level::kOk,
       "version unknown", ""},
      {"device-mapper", [](NodeFacts& f) { f.device_mapper = false; }, "kernel.device-mapper",
       Level::kError, "not there", "modprobe dm-mod"},
      {"xfs", [](NodeFacts& f) { f.kernel[0].running = false; }, "kernel.xfs", Level::kError,
       "neither", "xfs"},
      {"xfs as a module",
       [](NodeFacts& f) {
         f.kernel[0] = {"xfs", false, true};
       },
       "kernel.xfs", Level::kOk, "module", ""},
      {"ext4", [](NodeFacts& f) { f.kernel[1].running = false; }, "kernel.ext4", Level::kWarning,
       "neither", "ext4"},
      {"LVM's locks", [](NodeFacts& f) { f.lvm_locks.there = false; }, "lvm.locks", Level::kWarning,
       "/run/lock/lvm is not there", "locking_dir"},
      {"kubelet's folder", [](NodeFacts& f) { f.kubelet_dir.there = false; }, "kubelet-dir",
       Level::kError, "/var/lib/kubelet is not there", "kubelet-dir in node.conf"},
      {"plugin folder", [](NodeFacts& f) { f.plugin_dir.there = false; }, "plugin", Level::kError,
       "/exec is not there", "flexlocal install /exec"},
      {"no driver",
       [](NodeFacts& f) { f.installed_version = Error(ErrorCode::kNotFound, "no driver"); },
       "plugin", Level::kError, "no driver", "flexlocal install /exec"},
      {"no call of kubelet", [](NodeFacts& f) { f.init_mark = engine::InitMark(); }, "init",
       Level::kWarning, "has not called the driver", "another folder than /exec"},
      {"call of another driver", [](NodeFacts& f) { f.init_mark = engine::InitMark("v0"); }, "init",
       Level::kWarning, "kubelet called v0, and the driver is v1", "restart kubelet"},
      {"no mark",
       [](NodeFacts& f) { f.init_mark = Error(ErrorCode::kCorrupt, "is no mark of flexlocal"); },
       "init", Level::kWarning, "is no mark", "remove it"},
      {"another driver", [](NodeFacts& f) { f.installed_version = std::string("v0"); }, "plugin",
       Level::kWarning, "kubelet runs v0, this is v1", "flexlocal install /exec"},
      {"no cgroups", [](NodeFacts& f) { f.cgroups = Error(ErrorCode::kNotFound, "none"); },
       "cgroups", Level::kWarning, "none", "a class that requires them has no mounts"},
      {"cgroups v2 without io",
       [](NodeFacts& f) {
         f.cgroups = CgroupFacts{{engine::CgroupVersion::kV2, "/sys/fs/cgroup"}, false};
       },
       "cgroups", Level::kWarning, "v2 without the io controller", "unmount the v1 hierarchy"},
      {"cgroups v2",
       [](NodeFacts& f) {
         f.cgroups = CgroupFacts{{engine::CgroupVersion::kV2, "/sys/fs/cgroup"}};
       },
       "cgroups", Level::kOk, "v2 with the io controller", ""},
      {"a bad record", [](NodeFacts& f) { f.records->unreadable = {"record /x: torn"}; }, "records",
       Level::kError, "record /x: torn", "move the file away"},
      {"no records' folder", [](NodeFacts& f) { f.records = Error(ErrorCode::kDenied, "denied"); },
       "records", Level::kError, "denied", "readable"}};
  return rows;
}

const std::vector<Row>& pool_rows() {
  static const std::vector<Row> rows = {
      {"no vgs", [](NodeFacts& f) { f.groups = Error(ErrorCode::kFailed, "vgs failed"); },
       "pool.default.volume-group", Level::kError, "vgs failed", "`vgs`"},
      {"no group", [](NodeFacts& f) { f.groups->clear(); }, "pool.default.volume-group",
       Level::kError, "\"data\" is not on this node", "vgcreate data"},
      {"a lost disk", [](NodeFacts& f) { f.groups->front().missing_disks = 1; },
       "pool.default.volume-group", Level::kError, "1 of data's 2 disks", "bring the disk back"},
      {"a full group", [](NodeFacts& f) { f.groups->front().free = kMiB; },
       "pool.default.volume-group", Level::kWarning, "full", "vgextend data"},
      {"too few disks",
       [](NodeFacts& f) {
         pool(f).layout = {engine::Layout::Kind::kStriped, 3};
       },
       "pool.default.layout", Level::kError, "striped:3 needs 3 disks and data has 2", "vgextend"},
      {"enough disks",
       [](NodeFacts& f) {
         pool(f).layout = {engine::Layout::Kind::kStriped, 2};
       },
       "pool.default.layout", Level::kOk, "striped:2", ""},
      {"no thin pool", [](NodeFacts& f) { pool(f).thin_pool = "tp"; }, "pool.default.thin-pool",
       Level::kError, "data/tp is not on this node", "lvcreate --type thin-pool --zero y"},
      {"another group's thin pool",
       [](NodeFacts& f) {
         with_thin(f, {"other", "tp", "thin-pool", true, 1, 1});
       },
       "pool.default.thin-pool", Level::kError, "data/tp is not on this node", "lvcreate"},
      {"no kernel for it", [](NodeFacts& f) { pool(f).thin_pool = "tp"; }, "kernel.dm-thin-pool",
       Level::kError, "neither", "dm-thin-pool"},
      {"a thick thin pool",
       [](NodeFacts& f) {
         with_thin(f, {"data", "tp", "linear"});
       },
       "pool.default.thin-pool", Level::kError, "no thin pool but linear", "thin-pool in"},
      {"no zeroing",
       [](NodeFacts& f) {
         with_thin(f, {"data", "tp", "thin-pool", false, 1, 1});
       },
       "pool.default.thin-pool", Level::kError, "does not zero", "lvchange --zero y data/tp"},
      {"an inactive thin pool",
       [](NodeFacts& f) {
         with_thin(f, {"data", "tp", "thin-pool", true});
       },
       "pool.default.thin-pool", Level::kWarning, "not active", "lvchange --activate y data/tp"},
      {"thin data fill up",
       [](NodeFacts& f) {
         with_thin(f, {"data", "tp", "thin-pool", true, 80, 1});
       },
       "pool.default.thin-pool", Level::kWarning, "data 80 %", "lvextend"},
      {"thin metadata are full",
       [](NodeFacts& f) {
         with_thin(f, {"data", "tp", "thin-pool", true, 1, 95});
       },
       "pool.default.thin-pool", Level::kError, "metadata 95 %", "--poolmetadatasize"},
      {"a good thin pool",
       [](NodeFacts& f) {
         with_thin(f, {"data", "tp", "thin-pool", true, 79, 10});
       },
       "pool.default.thin-pool", Level::kOk, "data 79 %, metadata 10 %", ""},
      {"nothing mounted", [](NodeFacts& f) { with_quota(f, {}); }, "pool.default.quota-path",
       Level::kError, "nothing is mounted at /srv/fast", "-o prjquota"},
      {"not xfs",
       [](NodeFacts& f) {
         with_quota(f, {{"8:1", "/", "/srv/fast", "ext4", "/dev/sdb1", "rw"}});
       },
       "pool.default.quota-path", Level::kError, "ext4 and not xfs", "-o prjquota"},
      {"no quota", [](NodeFacts& f) { with_quota(f, {xfs_at("/srv/fast", "rw,noquota")}); },
       "pool.default.quota-path", Level::kError, "without prjquota", "fstab"},
      {"quota that only counts",
       [](NodeFacts& f) { with_quota(f, {xfs_at("/srv/fast", "rw,pqnoenforce")}); },
       "pool.default.quota-path", Level::kError, "without prjquota", "fstab"},
      {"another mount on top",
       [](NodeFacts& f) {
         with_quota(f, {xfs_at("/srv/fast", "rw,prjquota"), xfs_at("/srv/fast", "rw,noquota")});
       },
       "pool.default.quota-path", Level::kError, "without prjquota", "fstab"},
      {"a file system of our own, not yet made", [](NodeFacts& f) { pool(f).quota_size = kGiB; },
       "pool.default.quota-size", Level::kOk, "next call", ""},
      {"a file system of our own, mounted wrongly",
       [](NodeFacts& f) {
         pool(f).quota_size = kGiB;
         f.mounts->push_back(xfs_at("/run/flexlocal-pools/default", "rw,noquota"));
       },
       "pool.default.quota-size", Level::kError, "without prjquota", "prjquota"},
      {"quota", [](NodeFacts& f) { with_quota(f, {xfs_at("/srv/fast", "rw,prjquota")}); },
       "pool.default.quota-path", Level::kOk, "/srv/fast on /dev/sdb1", ""}};
  return rows;
}

void check(const Row& row) {
  NodeFacts facts = healthy_node();
  row.break_it(facts);
  const auto findings = diagnose(facts);
  const Finding* finding = find(findings, row.check);
  REQUIRE_MESSAGE(finding != nullptr, row.what);
  CHECK_MESSAGE(finding->level == row.level, row.what);
  CHECK_MESSAGE(finding->found.find(row.found) != std::string::npos, row.what, ": ",
                finding->found);
  CHECK_MESSAGE(finding->advice.find(row.advice) != std::string::npos, row.what, ": ",
                finding->advice);
  CHECK_MESSAGE(finding->advice.empty() == (row.level == Level::kOk), row.what);
}

TEST_CASE("a healthy node has only findings that are ok, none of them with advice") {
  for (const Finding& finding : diagnose(healthy_node())) {
    CHECK_MESSAGE(finding.level == Level::kOk, finding.check, ": ", finding.found);
    CHECK(finding.advice.empty());
    CHECK_FALSE(finding.found.empty());
  }
}

TEST_CASE("whatever is broken on the node is found, and it is said what to do") {
  for (const Row& row : node_rows()) check(row);
}

TEST_CASE("whatever is broken in a pool is found, and it is said what to do") {
  for (const Row& row : pool_rows()) check(row);
}

TEST_CASE("parts of the kernel that no pool needs are not asked for") {
  const auto findings = diagnose(healthy_node());
  CHECK(find(findings, "kernel.dm-thin-pool") == nullptr);
  CHECK(find(findings, "kernel.dm-raid") == nullptr);
}

TEST_CASE("without node.conf the rest is diagnosed all the same") {
  NodeFacts facts = healthy_node();
  facts.config = Error(ErrorCode::kNotFound, "missing");
  CHECK(count(diagnose(facts), Level::kError) == 1);
}

TEST_CASE("findings are printed aligned, advice below them, and nothing breaks a line") {
  const std::string text = to_text({{"a", Level::kOk, "fine", ""},
                                    {"longer", Level::kWarning, "evil\nok  root", "do\x1b this"}});
  CHECK(text ==
        "ok       a       fine\n"
        "warning  longer  evil?ok  root\n"
        "                 -> do? this\n");
}

TEST_CASE("a node that has only quota folders needs nothing of LVM") {
  NodeFacts facts = healthy_node();
  without_lvm(facts);
  const auto findings = diagnose(facts);
  CHECK(count(findings, Level::kError) == 0);
  CHECK(count(findings, Level::kWarning) == 0);
  facts.config->pools["default"].volume_group = "data";
  CHECK(count(diagnose(facts), Level::kError) > 0);
}

}  // namespace
}  // namespace flexlocal::cli
