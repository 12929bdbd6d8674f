#include "provisioner/daemon/command_line.h"

#include <boost/program_options.hpp>
#include <sstream>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "flexvolume/engine/host/node_config.h"
#include "flexvolume/engine/volume/volume_lock.h"
#include "provisioner/daemon/options_check.h"

namespace flexlocal::provisioner {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kUsage =
    "flexlocal-provisioner: local volumes for Kubernetes claims\n"
    "\n"
    "usage: flexlocal-provisioner node --node-name=NAME [options]\n"
    "           makes and reclaims the volumes of this node's claims\n"
    "       flexlocal-provisioner cluster [options]\n"
    "           does what no single node can; of several, one is elected\n"
    "       flexlocal-provisioner budget [options]\n"
    "           prints what each node may still give away\n"
    "       flexlocal-provisioner ROLE --config=FILE [options]\n"
    "           takes options from a file as well, one a line: node-name = a\n"
    "\n";

// One flag: its place, its default where it has one, and the name of its value in --help.
template <typename T>
auto* flag(T& into, const char* value_name) {
  return po::value(&into)->value_name(value_name);
}

auto* duration(RawOptions& raw, const char* name, const char* fallback) {
  return flag(raw.durations[name], "TIME")->default_value(fallback);
}

auto* number(RawOptions& raw, const char* name, const char* fallback) {
  return flag(raw.numbers[name], "N")->default_value(fallback);
}

auto* yes(bool& into) {
  return flag(into, "BOOL")->default_value(true, "true")->implicit_value(true);
}

auto* no(bool& into) {
  return flag(into, "BOOL")->default_value(false, "false")->implicit_value(true);
}

po::options_description server_flags(RawOptions& raw, DaemonOptions& options) {
  po::options_description all("The API server");
  auto add = all.add_options();
  add("kubeconfig", flag(options.kubeconfig, "FILE"),
      "kubeconfig file; without it the pod's service account is used");
  add("context", flag(options.context, "NAME"),
      "context of the kubeconfig; default: its current one");
  add("namespace", flag(options.namespace_name, "NAME"),
      "of the installation: the leader's Lease is there; default: the environment's POD_NAMESPACE, "
      "else flexlocal-system");
  add("lease-namespace", flag(options.lease_namespace, "NAME")->default_value("flexlocal-nodes"),
      "of the node daemons' Leases; the same for all daemons");
  add("kube-api-qps", number(raw, "kube-api-qps", "auto"),
      "most requests a second to the API server, 0: no limit; auto: 100, and no limit where the "
      "server has API priority and fairness");
  add("kube-api-burst", number(raw, "kube-api-burst", "200"),
      "requests that may go at once after a pause");
  add("timeout", duration(raw, "timeout", "30s"), "longest wait for one answer");
  return all;
}

po::options_description node_flags(RawOptions& raw, DaemonOptions& options) {
  po::options_description all("Role node");
  auto add = all.add_options();
  add("node-name", flag(options.node_name, "NAME"), "name of this node's Node object");
  add("node-config",
      flag(options.node_config, "FILE")->default_value(std::string(engine::kNodeConfigPath)),
      "the node's configuration: its pools and tools");
  add("host-proc", flag(options.host_proc, "DIR")->default_value(""),
      "run the host's tools in the mount, IPC and UTS namespaces of this process; /proc/1 in a pod "
      "with hostPID");
  add("state-dir", flag(options.state_dir, "DIR")->default_value("/var/lib/flexlocal"),
      "the host's folder of volume records");
  add("lock-dir", flag(options.lock_dir, "DIR")->default_value(std::string(engine::kLockFolder)),
      "the host's folder of locks");
  add("disk-per-ram", number(raw, "disk-per-ram", "32"),
      "bytes of volumes in a pool for a byte of the node's memory, where the class has no "
      "diskPerRam; 0: as much as the disks hold");
  add("ram-fraction", number(raw, "ram-fraction", "0.85"),
      "how much of the node's memory counts for that, up to 1");
  add("give-up-promises", no(options.give_up_promises),
      "a volume that was promised and cannot be made, before a pod has had it, is given to another "
      "node; false: this node tries on");
  return all;
}

po::options_description cluster_flags(RawOptions& raw, DaemonOptions& options) {
  po::options_description all("Role cluster");
  auto add = all.add_options();
  add("leader-election", yes(options.leader_election),
      "work only as the elected leader; false: at once, for a single daemon");
  add("leader-election-lease-duration", duration(raw, "leader-election-lease-duration", "15s"),
      "how long the others wait for a leader's next sign of life");
  add("leader-election-renew-deadline", duration(raw, "leader-election-renew-deadline", "10s"),
      "how long a leader that cannot renew its Lease goes on");
  add("leader-election-retry-period", duration(raw, "leader-election-retry-period", "2s"),
      "between two tries");
  add("register", yes(options.register_driver),
      "make the CSIDriver flexlocal.io, by which the scheduler asks for room; false: that is left "
      "to the administrator");
  add("label-nodes", yes(options.label_nodes),
      "keep the label flexlocal.io/ready of every Node; false: Nodes are not written");
  add("node-lost-after", duration(raw, "node-lost-after", "2m"),
      "claims are taken from a selected node that has not been Ready for so long");
  add("node-delete-policy", flag(raw.node_delete_policy, "WORD")->default_value("tell"),
      "PersistentVolumes of a deleted node: tell: say what to do; orphan: let go of those that "
      "somebody deletes; delete: delete those whose claim is gone, too");
  add("node-delete-grace", duration(raw, "node-delete-grace", "10m"),
      "how long a node must be gone before that");
  return all;
}

po::options_description work_flags(RawOptions& raw, DaemonOptions& options) {
  po::options_description all("Work");
  auto add = all.add_options();
  add("worker-threads", number(raw, "worker-threads", "4"),
      "claims and volumes worked on at once, 1 to 64; a node daemon answers new orders beside "
      "them");
  add("retry-interval-start", duration(raw, "retry-interval-start", "1s"),
      "first pause after a failure; it doubles with each");
  add("retry-interval-max", duration(raw, "retry-interval-max", "5m"),
      "longest pause after failures");
  add("immediate",
      po::value<std::string>()->value_name("WORD")->notifier(
          [&raw](const std::string& word) { raw.immediate = word; }),
      "claims with volumeBindingMode Immediate; role cluster: central (the default): this daemon "
      "chooses a node for each; rank: the node daemons do, this one says when none has room; off: "
      "they stay pending. Role node: rank: this node takes its share, for which all node daemons "
      "need this flag; off (the default): it waits to be chosen. rank is for "
      "--provisioning=distributed");
  add("provisioning", flag(raw.provisioning, "WORD")->default_value("central"),
      "who gives the orders (VolumeCopies) that the node daemons carry out: central: the cluster "
      "daemon; distributed: each node daemon, for its own node; the same word for all daemons");
  add("orphan-policy", flag(raw.orphan_policy, "WORD")->default_value("report"),
      "volumes of this cluster that have no PersistentVolume: report: say so; delete: wipe and "
      "remove them. The role that decides about volumes has it, see --provisioning");
  add("orphan-grace", duration(raw, "orphan-grace", "1h"),
      "how long a volume must have been without one before that");
  add("enable-capacity", yes(options.enable_capacity),
      "tell the scheduler of the room that nodes have, by a CSIStorageCapacity for each node and "
      "class; false: it is not told. The role that decides about volumes does it");
  add("daemon-set", flag(options.daemon_set, "NAME")->default_value("flexlocal-node"),
      "the DaemonSet that owns those objects, so that they go with it");
  add("capacity-poll-interval", duration(raw, "capacity-poll-interval", "1m"),
      "how often what the scheduler is told of room is written anew, and what nobody keeps of it "
      "is "
      "removed");
  add("log-level", flag(raw.log_level, "LEVEL")->default_value("info"),
      "debug, info, warning or error");
  add("log-format", flag(raw.log_format, "FORMAT")->default_value("text"),
      "text: key=value; json: one object a line");
  add("http-endpoint", flag(raw.http_endpoint, "ADDRESS")->default_value(""),
      "where to serve /healthz, /readyz and the metrics, such as :8080; empty: nowhere");
  add("metrics-path", flag(options.metrics_path, "PATH")->default_value("/metrics"),
      "path of the metrics there");
  return all;
}

// What a configuration file cannot hold.
po::options_description own_flags() {
  po::options_description all("This program");
  auto add = all.add_options();
  add("config", po::value<std::string>()->value_name("FILE"),
      "lines of NAME = VALUE by the names of the flags below, # begins a comment; what is on the "
      "command line, too, holds as it is there");
  add("help", "print this");
  add("version", "print the version");
  return all;
}

// All flags that have a place in the options, and those places.
struct Flags {
  Flags() = default;
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  DaemonOptions options;
  RawOptions raw;
  po::options_description server = server_flags(raw, options);
  po::options_description node = node_flags(raw, options);
  po::options_description cluster = cluster_flags(raw, options);
  po::options_description work = work_flags(raw, options);

  void add_to(po::options_description& all) const {
    all.add(server).add(node).add(cluster).add(work);
  }
};

std::string_view to_word(Role role) {
  switch (role) {
    case Role::kNode:
      return "node";
    case Role::kCluster:
      return "cluster";
    case Role::kBudget:
      return "budget";
  }
  return "";
}

// A flag that does nothing in this role is a mistake of whoever wrote it.
Status check_unused(const Flags& flags, Role role, const po::variables_map& values) {
  const auto check = [&](const po::options_description& group) -> Status {
    for (const auto& option : group.options()) {
      const std::string& name = option->long_name();
      if (values.contains(name) && !values[name].defaulted())
        return wrong_usage(concat("--", name, " is not for the role ", to_word(role)));
    }
    return {};
  };
  if (role != Role::kNode)
    if (auto checked = check(flags.node); !checked) return checked;
  if (role != Role::kCluster)
    if (auto checked = check(flags.cluster); !checked) return checked;
  return role == Role::kBudget ? check(flags.work) : Status();
}

// Only stored: what a configuration file has may come on top.
Status read_arguments(const std::vector<std::string>& arguments, const Flags& flags,
                      po::variables_map& values) {
  po::options_description all = own_flags();
  all.add_options()("role", po::value<std::string>());
  flags.add_to(all);
  po::positional_options_description positional;
  positional.add("role", 1);
  try {
    // Without guessing: an abbreviation that works today is another flag's tomorrow.
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(arguments).options(all).positional(positional).style(style).run(),
        values);
  } catch (const po::error& error) {
    return wrong_usage(error.what());
  }
  return {};
}

// On top of what `values` has already; the option's places are filled.
Status read_lines(const std::string& text, const Flags& flags, po::variables_map& values) {
  po::options_description all;
  flags.add_to(all);
  std::istringstream lines(text);
  try {
    po::store(po::parse_config_file(lines, all), values);
    po::notify(values);
  } catch (const po::error& error) {
    return wrong_usage(printable(error.what()));
  }
  return {};
}

// By itself, so that a mistake is told with the file's name.
Status check_file(const std::string& text, Role role) {
  Flags flags;
  flags.options.role = role;
  po::variables_map values;
  if (auto read = read_lines(text, flags, values); !read) return read;
  if (auto checked = check_values(flags.raw, flags.options); !checked) return checked;
  return check_unused(flags, role, values);
}

std::string help_text(const Flags& flags) {
  po::options_description all = own_flags();
  flags.add_to(all);
  std::ostringstream text;
  text << kUsage << all;
  return text.str();
}

// From the command line's values and the file's, which may be none (empty).
Status fill_in(const std::string& file, Flags& flags, po::variables_map& values) {
  if (auto role = check_role(flags.raw, flags.options); !role) return role;
  std::string text;
  if (values.contains("config")) {
    auto content = read_file(file, kMiB);
    if (!content) return content.error().context("--config");
    text = std::move(*content);
    if (auto checked = check_file(text, flags.options.role); !checked)
      return checked.error().context(file);
  }
  if (auto read = read_lines(text, flags, values); !read) return read;
  if (flags.options.role == Role::kNode && flags.options.node_name.empty())
    return wrong_usage("--node-name is missing");
  if (auto checked = check_values(flags.raw, flags.options); !checked) return checked;
  return check_unused(flags, flags.options.role, values);
}

}  // namespace

Result<std::variant<DaemonOptions, Say>> parse_options(const std::vector<std::string>& arguments) {
  using Outcome = std::variant<DaemonOptions, Say>;
  Flags flags;
  po::variables_map values;
  if (auto read = read_arguments(arguments, flags, values); !read) return read.error();
  if (values.contains("help")) return Outcome(Say{help_text(flags)});
  if (values.contains("version"))
    return Outcome(Say{concat("flexlocal-provisioner ", version(), '\n')});
  if (values.contains("role")) flags.raw.role = values["role"].as<std::string>();
  std::string file;
  if (values.contains("config")) file = values["config"].as<std::string>();
  if (auto filled = fill_in(file, flags, values); !filled) return filled.error();
  if (auto together = check_together(flags.options); !together)
    return file.empty() ? together.error() : together.error().context(concat("with ", file));
  return Outcome(std::move(flags.options));
}

}  // namespace flexlocal::provisioner
