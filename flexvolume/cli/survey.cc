#include "flexvolume/cli/survey.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "flexvolume/engine/contract/contract.h"
#include "flexvolume/engine/host/tools.h"
#include "flexvolume/engine/lvm/lvm.h"

namespace flexlocal::cli {
namespace {

constexpr auto kVersionDeadline = std::chrono::seconds(10);
constexpr Bytes kMostModules{16 * kMiB.count()};

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

FolderFact find_folder(const std::string& path) { return {path, is_folder(path)}; }

std::string content_or_nothing(const std::string& path, Bytes most = kMiB) {
  auto content = read_file(path, most);
  return content ? std::move(*content) : std::string();
}

std::vector<ToolFact> find_tools(const engine::Tools& tools) {
  std::vector<ToolFact> facts;
  for (const engine::Tool& tool : engine::all_tools()) {
    const auto path = tools.path(tool.name);
    const std::string where = path ? *path : std::string();
    facts.push_back({std::string(tool.name), std::string(tool.package), where,
                     path && ::access(where.c_str(), X_OK) == 0});
  }
  return facts;
}

// One tool of each package, and how it is asked.
struct VersionQuestion {
  std::string_view tool;
  std::string_view argument;
};
constexpr std::array<VersionQuestion, 5> kVersionQuestions = {{{"vgs", "--version"},
                                                               {"mkfs.xfs", "-V"},
                                                               {"blkid", "--version"},
                                                               {"mount", "--version"},
                                                               {"mkfs.ext4", "-V"}}};

std::map<std::string, std::string> ask_versions(const std::vector<ToolFact>& tools,
                                                CommandRunner& runner) {
  std::map<std::string, std::string> versions;
  for (const VersionQuestion& question : kVersionQuestions)
    for (const ToolFact& tool : tools) {
      if (tool.name != question.tool || !tool.runnable) continue;
      const auto output =
          runner.run({tool.path, {std::string(question.argument)}, kVersionDeadline, {}});
      if (!output) continue;
      // mke2fs writes it to stderr.
      std::string version = version_in(concat(output->out, ' ', output->err));
      if (!version.empty()) versions[tool.package] = printable(version, 40);
    }
  return versions;
}

Result<std::vector<GroupFact>> list_groups(const engine::Tools& tools, CommandRunner& runner) {
  const auto text = engine::Lvm(runner, tools).report("vgs", kGroupFactColumns);
  if (!text) return text.error();
  return parse_group_facts(*text);
}

Result<std::vector<LogicalVolumeFact>> list_volumes(const engine::Tools& tools,
                                                    CommandRunner& runner) {
  const auto text = engine::Lvm(runner, tools).report("lvs", kVolumeFactColumns);
  if (!text) return text.error();
  return parse_volume_facts(*text);
}

std::vector<KernelFact> read_kernel(const Places& places) {
  const std::string running = content_or_nothing(places.proc + "/filesystems");
  utsname kernel{};
  ::uname(&kernel);  // fails only for a bad address
  const std::string folder = concat(places.modules, '/', kernel.release);
  const std::string builtin = content_or_nothing(folder + "/modules.builtin", kMostModules);
  const std::string loadable = content_or_nothing(folder + "/modules.dep", kMostModules);
  const std::string loaded = content_or_nothing(places.proc + "/modules", kMostModules);
  std::vector<KernelFact> facts;
  for (const std::string_view name : {"xfs", "ext4", "dm-thin-pool", "dm-raid"}) {
    // The kernel itself writes modules with underscores.
    std::string plain(name);
    std::replace(plain.begin(), plain.end(), '-', '_');
    const bool is_loaded =
        loaded.starts_with(plain + ' ') || loaded.find(concat('\n', plain, ' ')) != loaded.npos;
    facts.push_back({std::string(name),
                     is_loaded || names_module(builtin, name) || lists_file_system(running, name),
                     names_module(loadable, name)});
  }
  return facts;
}

// /proc/misc: "236 device-mapper".
bool has_device_mapper(const Places& places) {
  const std::string misc = content_or_nothing(places.proc + "/misc");
  for (const std::string_view line : split(misc, '\n'))
    if (trim(line).ends_with(" device-mapper")) return true;
  return false;
}

Result<std::string> ask_installed(const std::string& plugin_dir, CommandRunner& runner) {
  const std::string program = concat(plugin_dir, '/', engine::kDriverFolder, "/flexlocal");
  if (::access(program.c_str(), X_OK) != 0)
    return Error::from_errno(errno, concat("the driver ", program));
  const auto output = runner.run({program, {"--version"}, kVersionDeadline, {}});
  if (!output) return output.error();
  const std::string_view text = trim(output->out);
  constexpr std::string_view kName = "flexlocal ";
  if (output->exit_code != 0 || !text.starts_with(kName))
    return Error(ErrorCode::kCorrupt, concat("the driver ", program, " does not say its version"));
  return printable(text.substr(kName.size()), 80);
}

Result<CgroupFacts> read_cgroups(const Result<std::vector<engine::MountEntry>>& mounts) {
  if (!mounts) return mounts.error();
  auto hierarchy = engine::find_io_hierarchy(*mounts, {});
  if (!hierarchy) return hierarchy.error();
  CgroupFacts facts{std::move(*hierarchy)};
  if (facts.hierarchy.version == engine::CgroupVersion::kV2) {
    const std::string list = content_or_nothing(facts.hierarchy.root + "/cgroup.controllers");
    const auto words = split(trim(list), ' ');
    facts.has_io = std::find(words.begin(), words.end(), "io") != words.end();
  }
  return facts;
}

void note(const Result<std::optional<engine::Record>>& record, RecordFacts& facts) {
  if (record)
    ++facts.readable;
  else
    facts.unreadable.push_back(record.error().message());
}

// Those of volumes, and of the shared file systems of pools.
Result<RecordFacts> survey_records(const std::string& folder, const engine::NodeConfig& config) {
  const engine::RecordStore records(folder);
  const auto names = records.names();
  if (!names) return names.error();
  RecordFacts facts;
  for (const engine::VolumeName& name : *names) note(records.load(name), facts);
  for (const auto& [name, pool] : config.pools)
    if (const auto record = records.of_pools().load(engine::VolumeName::of_pool(name));
        !record || *record)
      note(record, facts);
  return facts;
}

}  // namespace

std::string version_in(std::string_view output) {
  for (const std::string_view line : split(output, '\n'))
    for (const std::string_view word : split(line, ' '))
      if (!word.empty() && word.front() >= '0' && word.front() <= '9') return std::string(word);
  return {};
}

bool names_module(std::string_view list, std::string_view name) {
  const std::string file = concat('/', name, ".ko");
  for (const std::string_view line : split(list, '\n')) {
    // Of modules.dep: what stands behind the colon are other modules.
    const std::string_view module = line.substr(0, line.find(':'));
    const std::size_t slash = module.rfind('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view base = module.substr(slash);
    if (base == file || base.starts_with(file + '.')) return true;
  }
  return false;
}

bool lists_file_system(std::string_view filesystems, std::string_view name) {
  for (const std::string_view line : split(filesystems, '\n'))
    if (!line.starts_with("nodev") && trim(line) == name) return true;
  return false;
}

NodeFacts survey(const Places& places, CommandRunner& runner, engine::Mounter& mounter) {
  auto config = engine::load_node_config(places.node_conf);
  const engine::NodeConfig defaults;
  const engine::NodeConfig& known = config ? *config : defaults;
  const engine::Tools tools(known.tools);
  auto tool_facts = find_tools(tools);
  auto versions = ask_versions(tool_facts, runner);
  const std::string kubelet_dir = known.kubelet_dir;
  auto mounts = mounter.table();
  auto groups = list_groups(tools, runner);
  auto volumes = list_volumes(tools, runner);
  auto records = survey_records(places.records, known);
  return NodeFacts{.root = ::geteuid() == 0,
                   .config = std::move(config),
                   .tools = std::move(tool_facts),
                   .versions = std::move(versions),
                   .kernel = read_kernel(places),
                   .device_mapper = has_device_mapper(places),
                   // Now that LVM has run, which makes it.
                   .lvm_locks = find_folder(places.lvm_locks),
                   .groups = std::move(groups),
                   .volumes = std::move(volumes),
                   .mounts = mounts,
                   .kubelet_dir = find_folder(kubelet_dir),
                   .plugin_dir = find_folder(places.plugin_dir),
                   .installed_version = ask_installed(places.plugin_dir, runner),
                   .own_version = std::string(version()),
                   .init_mark = engine::read_init_mark(places.locks),
                   .cgroups = read_cgroups(mounts),
                   .records = std::move(records)};
}

}  // namespace flexlocal::cli
