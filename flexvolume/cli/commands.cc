#include "flexvolume/cli/commands.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <ostream>

#include "flexvolume/base/log.h"
#include "flexvolume/base/program.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "flexvolume/cli/diagnosis.h"
#include "flexvolume/cli/examination.h"
#include "flexvolume/cli/installation.h"
#include "flexvolume/cli/listing.h"
#include "flexvolume/cli/status.h"
#include "flexvolume/cli/survey.h"
#include "flexvolume/engine/engine.h"
#include "flexvolume/engine/host/kernel_mounter.h"

namespace flexlocal::cli {
namespace {

using engine::VolumeName;

// The host, as far as a look at it needs one. What could not be looked at is noted.
class Onlooker {
 public:
  Onlooker() {
    auto config = engine::load_node_config(std::string(engine::kNodeConfigPath));
    has_config = config || config.error().code() != ErrorCode::kNotFound;
    if (config)
      config_ = std::move(*config);
    else
      notices.push_back(config.error().message());
  }

  NodeView look() {
    NodeView view{read_records(), engine().inventory(), {}};
    if (!view.inventory) notices.push_back(view.inventory.error().message());
    if (view.inventory)
      for (const auto& [group, why] : view.inventory->outdated) notices.push_back(why);
    if (auto table = mounter_.table())
      view.mounts = std::move(*table);
    else
      notices.push_back(table.error().message());
    return view;
  }

  // A logical volume that bears the name and is not ours: Engine lists ours only.
  std::optional<engine::LogicalVolume> stranger(const VolumeName& name) {
    const engine::Tools tools(config_.tools);
    auto found = engine::Lvm(runner_, tools).find_anywhere(name);
    if (!found) return std::nullopt;  // look() has noted that LVM cannot be asked
    for (engine::LogicalVolume& volume : *found)
      if (!volume.ownership) return std::move(volume);
    return std::nullopt;
  }

  engine::IoLimits io_limits(const VolumeName& name) {
    const auto limits = engine().io_limits(name);
    if (limits) return *limits;
    notices.push_back(limits.error().message());
    return {};
  }

  engine::Mounter& mounter() { return mounter_; }

  std::vector<std::string> notices;
  bool has_config = false;  // whether there is a node.conf

 private:
  engine::Engine engine() { return {engine::Host{runner_, devices_, mounter_, log_}, config_}; }

  std::vector<RecordEntry> read_records() {
    const engine::RecordStore records;
    const auto names = records.names();
    if (!names) {
      notices.push_back(names.error().message());
      return {};
    }
    std::vector<RecordEntry> entries;
    for (const VolumeName& name : *names) {
      auto record = records.load(name);
      if (!record)
        entries.push_back({name, record.error()});
      else if (*record)  // else it was removed meanwhile
        entries.push_back({name, std::move(**record)});
    }
    return entries;
  }

  StderrLog log_{LogLevel::kWarning};
  ProcessRunner runner_;
  engine::KernelDevices devices_;
  engine::KernelMounter mounter_;
  engine::NodeConfig config_;
};

std::optional<Usage> ask_usage(const std::string& path) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) return std::nullopt;
  return Usage{Bytes(status.f_blocks * status.f_frsize),
               Bytes((status.f_blocks - status.f_bfree) * status.f_frsize)};
}

void warn(const std::vector<std::string>& notices, const Terminal& terminal) {
  for (const std::string& notice : notices)
    terminal.err << "flexlocal: " << printable(notice, 1000) << '\n';
}

std::string doctor_json(const std::vector<Finding>& findings) {
  JsonWriter json;
  json.begin_object().member("version", version()).key("findings");
  write_json(json, findings);
  for (const auto& [key, level] :
       {std::pair<std::string_view, Level>("warnings", Level::kWarning), {"errors", Level::kError}})
    json.key(key).integer(static_cast<std::int64_t>(count(findings, level)));
  json.end_object();
  return json.take() + '\n';
}

Result<VolumeName> parse_volume(const std::string& text) {
  return engine::is_uuid(text) ? VolumeName::of_claim(text) : VolumeName::parse(text);
}

// The one to report of those that bear the name: the one with the record, when there are several.
VolumeView select(std::vector<VolumeView> views, const VolumeName& name) {
  std::erase_if(views, [&](const VolumeView& view) { return view.name != name.text(); });
  if (views.empty()) return {.name = name.text()};
  const auto best = std::find_if(views.begin(), views.end(),
                                 [](const VolumeView& view) { return view.record.has_value(); });
  return best == views.end() ? views.front() : *best;
}

bool is_known(const VolumeView& view) {
  return view.record || !view.record_error.empty() || view.lv || view.folder ||
         !view.mounts.empty();
}

// What a promise was only made of, or is not ours, leaves nothing here.
bool is_left(const VolumeView& view) {
  const std::string_view state = state_of(view);
  return state != "promised" && state != "foreign" && state != "mount-only";
}

}  // namespace

int doctor(const std::string& plugin_dir, Form form, const Terminal& terminal) {
  ProcessRunner runner;
  engine::KernelMounter mounter;
  Places places;
  places.plugin_dir = plugin_dir;
  const auto findings = diagnose(survey(places, runner, mounter));
  const std::size_t errors = count(findings, Level::kError);
  if (form == Form::kJson)
    terminal.out << doctor_json(findings);
  else
    terminal.out << to_text(findings) << '\n'
                 << errors << " error(s), " << count(findings, Level::kWarning) << " warning(s)\n";
  return errors == 0 ? kFine : kTrouble;
}

int list(Form form, const Terminal& terminal) {
  Onlooker onlooker;
  const auto views = merge(onlooker.look(), ask_usage);
  warn(onlooker.notices, terminal);
  terminal.out << (form == Form::kJson ? to_json(views, onlooker.notices) : to_text(views));
  return onlooker.notices.empty() ? kFine : kTrouble;
}

int status(const std::string& volume, Form form, const Terminal& terminal) {
  const auto name = parse_volume(volume);
  if (!name) {
    terminal.err << "flexlocal: " << name.error().message() << '\n';
    return kWrongUsage;
  }
  Onlooker onlooker;
  VolumeView view = select(merge(onlooker.look(), ask_usage), *name);
  if (!view.lv && !view.folder) view.lv = onlooker.stranger(*name);
  view.io_limits = onlooker.io_limits(*name);
  warn(onlooker.notices, terminal);
  if (!is_known(view)) {
    terminal.err << "flexlocal: volume " << name->text()
                 << " is not on this node; `kubectl get pv -o wide` and the volume's node affinity "
                    "say where it is\n";
    return kTrouble;
  }
  const auto findings = examine(view);
  terminal.out << (form == Form::kJson ? status_json(view, findings) : status_text(view, findings));
  return count(findings, Level::kError) == 0 ? kFine : kTrouble;
}

int uninstall_all(const std::string& plugin_folder, const Terminal& terminal) {
  Onlooker onlooker;
  // A node that was never told of a pool has no volumes, and that is no trouble.
  if (!onlooker.has_config) onlooker.notices.clear();
  const NodeView seen = onlooker.look();
  std::vector<std::string> left;
  for (const VolumeView& view : merge(seen, ask_usage))
    if (is_left(view)) left.push_back(concat(view.name, " (", state_of(view), ')'));
  Status done =
      Error(ErrorCode::kUnavailable,
            "cannot tell whether there are volumes on this node; mend what is said above");
  if (onlooker.notices.empty() && seen.inventory && seen.inventory->unseen.empty())
    done = uninstall({.plugin_folder = plugin_folder}, onlooker.mounter(), left);
  warn(onlooker.notices, terminal);
  if (done) return kFine;
  terminal.err << "flexlocal: " << printable(done.error().message(), 4000) << '\n';
  return kTrouble;
}

}  // namespace flexlocal::cli
