#include "provisioner/daemon/process_metrics.h"

#include <dirent.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"

namespace flexlocal::provisioner {
namespace {

using kube::Counter;
using kube::Family;
using kube::Gauge;

// Fields of /proc/<pid>/stat behind the program's name, which may hold anything, brackets and
// spaces included; counted from 3 as proc(5) does.
std::optional<double> stat_field(const std::string& stat, std::size_t number) {
  const std::size_t bracket = stat.rfind(") ");
  if (bracket == std::string::npos || number < 3) return std::nullopt;
  const auto fields = split(trim(std::string_view(stat).substr(bracket + 2)), ' ');
  unsigned long long value = 0;
  if (number - 3 >= fields.size() || !parse_number(fields[number - 3], UINT64_MAX, value))
    return std::nullopt;
  return static_cast<double>(value);
}

double ticks_a_second() { return static_cast<double>(::sysconf(_SC_CLK_TCK)); }

std::optional<double> cpu_seconds(const std::string& stat) {
  const auto user = stat_field(stat, 14);
  const auto system = stat_field(stat, 15);
  if (!user || !system) return std::nullopt;
  return (*user + *system) / ticks_a_second();
}

std::optional<double> resident_bytes(const std::string& stat) {
  const auto pages = stat_field(stat, 24);
  if (!pages) return std::nullopt;
  return *pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Since the epoch: when the machine was booted is a line of /proc/stat.
std::optional<double> start_time(const std::string& stat, const std::string& machine) {
  constexpr std::string_view kBoot = "btime ";
  const auto since_boot = stat_field(stat, 22);
  for (const std::string_view line : split(machine, '\n')) {
    unsigned long long boot = 0;
    if (since_boot && line.starts_with(kBoot) &&
        parse_number(line.substr(kBoot.size()), UINT64_MAX, boot))
      return static_cast<double>(boot) + *since_boot / ticks_a_second();
  }
  return std::nullopt;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::optional<double> open_files(const std::string& proc) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir((proc + "/self/fd").c_str()));
  if (!folder) return std::nullopt;
  const std::string own = concat(::dirfd(folder.get()));
  double count = 0;
  while (const dirent* const entry = ::readdir(folder.get()))
    if (entry->d_name[0] != '.' && entry->d_name != own) ++count;
  return count;
}

std::string read(const std::string& path) {
  auto text = read_file(path);
  return text ? std::move(*text) : std::string();
}

void set(Family<Gauge>& out, std::optional<double> value) {
  out.clear();
  if (value) out.with({}).set(*value);
}

}  // namespace

void show_process(kube::Metrics& metrics, const std::string& proc) {
  const auto stat = [proc] { return read(proc + "/self/stat"); };
  metrics.collect<Counter>({"process_cpu_seconds_total", "Processor time of the process."},
                           [stat](Family<Counter>& out) {
                             out.clear();
                             if (const auto value = cpu_seconds(stat())) out.with({}).add(*value);
                           });
  metrics.collect<Gauge>({"process_resident_memory_bytes", "Memory that is resident."},
                         [stat](Family<Gauge>& out) { set(out, resident_bytes(stat())); });
  metrics.collect<Gauge>(
      {"process_start_time_seconds", "When the process began, since the epoch."},
      [stat, proc](Family<Gauge>& out) { set(out, start_time(stat(), read(proc + "/stat"))); });
  metrics.collect<Gauge>({"process_open_fds", "File descriptors that are open."},
                         [proc](Family<Gauge>& out) { set(out, open_files(proc)); });
  metrics.collect<Gauge>(
      {"flexlocal_build_info", "Always 1; the label says which version runs.", {"version"}},
      [](Family<Gauge>& out) { out.with({version()}).set(1); });
}

void show_leader(kube::Metrics& metrics, std::function<bool()> is_leader) {
  metrics.collect_gauge("flexlocal_leader", "Whether this process is the one that acts.",
                        [is_leader = std::move(is_leader)] { return is_leader() ? 1.0 : 0.0; });
}

}  // namespace flexlocal::provisioner
