#include "flexvolume/cli/diagnosis.h"

#include <algorithm>
#include <array>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/contract.h"
#include "flexvolume/engine/volume/record.h"

namespace flexlocal::cli {
namespace {

using engine::Pool;

// The first with --reportformat json (lvm2's WHATS_NEW).
constexpr std::array<unsigned long long, 3> kLeastLvm = {2, 2, 158};

// "2.03.16(2)" -> 2, 3, 16; what is not there or no number is 0.
std::array<unsigned long long, 3> parse_version(std::string_view text) {
  std::array<unsigned long long, 3> version{};
  const std::size_t end = text.find_first_not_of("0123456789.");
  const auto parts = split(text.substr(0, end), '.');
  for (std::size_t i = 0; i < std::min(parts.size(), version.size()); ++i)
    if (!parse_number(parts[i], 1'000'000'000, version[i])) version[i] = 0;
  return version;
}

bool any_pool(const NodeFacts& facts, bool (*wanted)(const Pool&)) {
  return facts.config && std::any_of(facts.config->pools.begin(), facts.config->pools.end(),
                                     [&](const auto& named) { return wanted(named.second); });
}

// Unless node.conf says that there are only quota folders.
bool needs_lvm(const NodeFacts& facts) {
  return !facts.config ||
         any_pool(facts, [](const Pool& pool) { return !pool.volume_group.empty(); });
}

Finding check_root(const NodeFacts& facts) {
  if (facts.root) return {"root", Level::kOk, "running as root"};
  return {"root", Level::kError, "not running as root: what follows is incomplete",
          "run it as root"};
}

Finding check_config(const NodeFacts& facts) {
  if (facts.config)
    return {"node.conf", Level::kOk, concat(facts.config->pools.size(), " pool(s) defined")};
  return {"node.conf", Level::kError, facts.config.error().message(),
          concat("correct ", engine::kNodeConfigPath, "; flexlocal(8) describes its keys")};
}

// e2fsprogs are for classes with ext4 only: their want stops no other mount.
Level level_of_missing(std::string_view package) {
  return package == "e2fsprogs" ? Level::kWarning : Level::kError;
}

Finding check_package(const std::string& package, const NodeFacts& facts) {
  const std::string check = concat("tools.", package);
  std::vector<std::string> there;
  std::vector<std::string> missing;
  for (const ToolFact& tool : facts.tools)
    if (tool.package == package) (tool.runnable ? there : missing).push_back(tool.name);
  if (!missing.empty())
    return {
        check, level_of_missing(package),
        concat(join(missing, ", "), " not to be found or not executable"),
        concat("install the package ", package, ", or name the path in node.conf under [tool]")};
  const auto version = facts.versions.find(package);
  const std::string shown = version == facts.versions.end() ? "version unknown" : version->second;
  if (package == "lvm2" && version != facts.versions.end() &&
      parse_version(version->second) < kLeastLvm)
    return {check, Level::kError, concat(shown, " cannot report in JSON"),
            "update lvm2 to 2.02.158 or later"};
  return {check, Level::kOk, concat(shown, " (", join(there, ", "), ')')};
}

std::vector<Finding> check_tools(const NodeFacts& facts) {
  std::vector<std::string> packages;
  for (const ToolFact& tool : facts.tools)
    if (std::find(packages.begin(), packages.end(), tool.package) == packages.end())
      packages.push_back(tool.package);
  std::sort(packages.begin(), packages.end());
  if (!needs_lvm(facts))
    std::erase_if(packages, [](const std::string& package) {
      return package == "lvm2" || package == "dmsetup";
    });
  std::vector<Finding> findings;
  findings.reserve(packages.size());
  for (const std::string& package : packages) findings.push_back(check_package(package, facts));
  return findings;
}

// Whether this node's pools need the part at all, and how badly.
std::optional<Level> level_of_missing(const KernelFact& part, const NodeFacts& facts) {
  if (part.name == "xfs") return Level::kError;
  if (part.name == "ext4") return Level::kWarning;
  const bool needed =
      part.name == "dm-thin-pool"
          ? any_pool(facts, [](const Pool& pool) { return !pool.thin_pool.empty(); })
          : any_pool(facts, [](const Pool& pool) {
              return pool.layout.kind == engine::Layout::Kind::kRaid1;
            });
  return needed ? std::optional(Level::kError) : std::nullopt;
}

std::vector<Finding> check_kernel(const NodeFacts& facts) {
  std::vector<Finding> findings;
  if (!needs_lvm(facts))
    findings.push_back(
        {"kernel.device-mapper", Level::kOk, "not needed: no pool has a volume group"});
  else if (facts.device_mapper)
    findings.push_back({"kernel.device-mapper", Level::kOk, "there"});
  else
    findings.push_back({"kernel.device-mapper", Level::kError, "not there: LVM makes no device",
                        "load it with `modprobe dm-mod`, now and at every boot"});
  for (const KernelFact& part : facts.kernel) {
    const auto level = level_of_missing(part, facts);
    const std::string check = concat("kernel.", part.name);
    if (!level) continue;
    if (part.running)
      findings.push_back({check, Level::kOk, "there"});
    else if (part.loadable)
      findings.push_back({check, Level::kOk, "a module, loaded when it is first needed"});
    else
      findings.push_back({check, *level, "neither in this kernel nor among its modules",
                          concat("run a kernel that has ", part.name)});
  }
  return findings;
}

Finding check_lvm_locks(const NodeFacts& facts) {
  if (facts.lvm_locks.there) return {"lvm.locks", Level::kOk, facts.lvm_locks.path};
  return {
      "lvm.locks", Level::kWarning, concat(facts.lvm_locks.path, " is not there"),
      "LVM makes it when it runs: see locking_dir in lvm.conf, and that every LVM of this node, "
      "in containers too, uses the same folder"};
}

Finding check_kubelet_dir(const NodeFacts& facts) {
  if (facts.kubelet_dir.there) return {"kubelet-dir", Level::kOk, facts.kubelet_dir.path};
  return {"kubelet-dir", Level::kError, concat(facts.kubelet_dir.path, " is not there"),
          "if kubelet runs with another --root-dir, name it as kubelet-dir in node.conf"};
}

Finding check_plugin(const NodeFacts& facts) {
  const std::string again = concat("`flexlocal install ", facts.plugin_dir.path, '`');
  if (!facts.plugin_dir.there)
    return {"plugin", Level::kError, concat(facts.plugin_dir.path, " is not there"),
            concat("if kubelet runs with another --volume-plugin-dir, give it as --plugin-dir; "
                   "else ",
                   again)};
  if (!facts.installed_version)
    return {"plugin", Level::kError, facts.installed_version.error().message(), again};
  if (*facts.installed_version != facts.own_version)
    return {"plugin", Level::kWarning,
            concat("kubelet runs ", *facts.installed_version, ", this is ", facts.own_version),
            again};
  return {"plugin", Level::kOk, concat(facts.own_version, " in ", facts.plugin_dir.path)};
}

// By the program that is in the plugin folder; where that does not say its version, by this one.
Finding check_init(const NodeFacts& facts) {
  const std::string advice =
      concat("if kubelet's --volume-plugin-dir is another folder than ", facts.plugin_dir.path,
             ", `flexlocal install` there and give it as --plugin-dir; else restart kubelet");
  if (!facts.init_mark)
    return {"init", Level::kWarning, facts.init_mark.error().message(),
            "remove it, and restart kubelet"};
  if (!*facts.init_mark)
    return {"init", Level::kWarning, "kubelet has not called the driver since the last boot",
            advice};
  const std::string& called = **facts.init_mark;
  const std::string& installed =
      facts.installed_version ? *facts.installed_version : facts.own_version;
  if (called != installed)
    return {"init", Level::kWarning,
            concat("kubelet called ", called, ", and the driver is ", installed), advice};
  return {"init", Level::kOk, concat("kubelet called ", called)};
}

Finding check_cgroups(const NodeFacts& facts) {
  const std::string_view advice =
      "until then I/O limits of a class have no effect, and a class that requires them has no "
      "mounts";
  if (!facts.cgroups)
    return {"cgroups", Level::kWarning, facts.cgroups.error().message(), std::string(advice)};
  const std::string& root = facts.cgroups->hierarchy.root;
  if (facts.cgroups->hierarchy.version == engine::CgroupVersion::kV1)
    return {"cgroups", Level::kOk, concat("v1 with blkio, ", root)};
  if (!facts.cgroups->has_io)
    return {"cgroups", Level::kWarning, concat("v2 without the io controller, ", root),
            concat("run a kernel with it, or unmount the v1 hierarchy that has it; ", advice)};
  return {"cgroups", Level::kOk, concat("v2 with the io controller, ", root)};
}

std::vector<Finding> check_records(const NodeFacts& facts) {
  if (!facts.records)
    return {{"records", Level::kError, facts.records.error().message(),
             concat("make ", engine::kRecordFolder, " readable for root")}};
  std::vector<Finding> findings;
  for (const std::string& unreadable : facts.records->unreadable)
    findings.push_back({"records", Level::kError, unreadable,
                        "its volume is not mounted while the record cannot be read: restore the "
                        "file; or see `flexlocal status` of the volume, and if its tags say "
                        "whose it is, move the file away: it is made anew from the tags"});
  if (findings.empty())
    findings.push_back({"records", Level::kOk, concat(facts.records->readable, " readable")});
  return findings;
}

void append(std::vector<Finding>& all, std::vector<Finding> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

}  // namespace

std::vector<Finding> diagnose(const NodeFacts& facts) {
  std::vector<Finding> findings = {check_root(facts), check_config(facts)};
  append(findings, check_tools(facts));
  append(findings, check_kernel(facts));
  if (needs_lvm(facts)) findings.push_back(check_lvm_locks(facts));
  if (facts.config) append(findings, diagnose_pools(*facts.config, facts));
  findings.push_back(check_kubelet_dir(facts));
  findings.push_back(check_plugin(facts));
  findings.push_back(check_init(facts));
  findings.push_back(check_cgroups(facts));
  append(findings, check_records(facts));
  return findings;
}

}  // namespace flexlocal::cli
