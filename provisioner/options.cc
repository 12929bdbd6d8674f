#include "provisioner/options.h"

#include <boost/program_options.hpp>
#include <sstream>

#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "flexvolume/engine/node_config.h"
#include "flexvolume/engine/volume_lock.h"
#include "provisioner/grant_signer.h"
#include "provisioner/options_check.h"

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
    "\n";

// One flag: its place, its default where it has one, and the name of its value in --help.
template <typename T>
auto* flag(T& into, const char* value_name) {
  return po::value(&into)->value_name(value_name);
}

auto* duration(RawOptions& raw, const char* name, const char* fallback) {
  return flag(raw.durations[name], "TIME")->default_value(fallback);
}

po::options_description server_flags(RawOptions& raw, DaemonOptions& options) {
  po::options_description all("The API server");
  auto add = all.add_options();
  add("kubeconfig", flag(options.kubeconfig, "FILE"),
      "kubeconfig file; without it the pod's service account is used");
  add("context", flag(options.context, "NAME"),
      "context of the kubeconfig; default: its current one");
  add("namespace", flag(options.namespace_name, "NAME"),
      "of the installation: its Leases and the grant key's Secret are there; default: the "
      "environment's POD_NAMESPACE, else flexlocal-system");
  add("kube-api-qps", flag(options.kube_api_qps, "N")->default_value(20),
      "requests a second to the API server, 0: no limit");
  add("kube-api-burst", flag(options.kube_api_burst, "N")->default_value(30),
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
  const GrantFiles grants;
  add("grant-key", flag(options.grant_key, "FILE")->default_value(grants.secret),
      "the keys that volumes are signed by, as the Secret flexlocal-grant has them");
  add("host-grant-key", flag(options.host_grant_key, "FILE")->default_value(grants.host),
      "the host's copy of them, which the plugin reads; the same file: nothing is copied");
  add("orphan-policy", flag(raw.orphan_policy, "WORD")->default_value("report"),
      "volumes of this cluster that have no PersistentVolume: report: say so; delete: wipe and "
      "remove them");
  add("orphan-grace", duration(raw, "orphan-grace", "1h"),
      "how long a volume must have been without one before that");
  return all;
}

po::options_description cluster_flags(RawOptions& raw, DaemonOptions& options) {
  po::options_description all("Role cluster");
  auto add = all.add_options();
  add("leader-election",
      flag(options.leader_election, "BOOL")->default_value(true, "true")->implicit_value(true),
      "work only as the elected leader; false: at once, for a single daemon");
  add("leader-election-lease-duration", duration(raw, "leader-election-lease-duration", "15s"),
      "how long the others wait for a leader's next sign of life");
  add("leader-election-renew-deadline", duration(raw, "leader-election-renew-deadline", "10s"),
      "how long a leader that cannot renew its Lease goes on");
  add("leader-election-retry-period", duration(raw, "leader-election-retry-period", "2s"),
      "between two tries");
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
  add("worker-threads", flag(options.worker_threads, "N")->default_value(4),
      "claims and volumes worked on at once, 1 to 64");
  add("retry-interval-start", duration(raw, "retry-interval-start", "1s"),
      "first pause after a failure; it doubles with each");
  add("retry-interval-max", duration(raw, "retry-interval-max", "5m"),
      "longest pause after failures");
  add("log-level", flag(raw.log_level, "LEVEL")->default_value("info"),
      "debug, info, warning or error");
  add("log-format", flag(raw.log_format, "FORMAT")->default_value("text"),
      "text: key=value; json: one object a line");
  add("http-endpoint", flag(raw.http_endpoint, "ADDRESS")->default_value(""),
      "where to serve /healthz, /readyz and the metrics, such as :8080; empty: nowhere");
  add("metrics-path", flag(options.metrics_path, "PATH")->default_value("/metrics"),
      "path of the metrics there");
  add("help", "print this");
  add("version", "print the version");
  return all;
}

// A flag that does nothing in this role is a mistake of whoever wrote it.
Status check_unused(const po::options_description& others, const char* role,
                    const po::variables_map& values) {
  for (const auto& option : others.options()) {
    const std::string& name = option->long_name();
    if (values.contains(name) && !values[name].defaulted())
      return wrong_usage(concat("--", name, " is not for the role ", role));
  }
  return {};
}

Result<po::variables_map> read_arguments(const std::vector<std::string>& arguments,
                                         const po::options_description& flags, RawOptions& raw) {
  po::options_description all;
  all.add(flags).add_options()("role", po::value(&raw.role));
  po::positional_options_description positional;
  positional.add("role", 1);
  po::variables_map values;
  try {
    // Without guessing: an abbreviation that works today is another flag's tomorrow.
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(arguments).options(all).positional(positional).style(style).run(),
        values);
    po::notify(values);
  } catch (const po::error& error) {
    return wrong_usage(error.what());
  }
  return values;
}

}  // namespace

Result<std::variant<DaemonOptions, Say>> parse_options(const std::vector<std::string>& arguments) {
  using Outcome = std::variant<DaemonOptions, Say>;
  DaemonOptions options;
  RawOptions raw;
  const auto node = node_flags(raw, options);
  const auto cluster = cluster_flags(raw, options);
  po::options_description flags;
  flags.add(server_flags(raw, options)).add(node).add(cluster).add(work_flags(raw, options));
  const auto values = read_arguments(arguments, flags, raw);
  if (!values) return values.error();
  if (values->contains("help")) {
    std::ostringstream text;
    text << kUsage << flags;
    return Outcome(Say{text.str()});
  }
  if (values->contains("version"))
    return Outcome(Say{concat("flexlocal-provisioner ", version(), '\n')});
  if (auto checked = check_options(raw, options); !checked) return checked.error();
  const bool is_node = options.role == Role::kNode;
  auto unused = check_unused(is_node ? cluster : node, is_node ? "node" : "cluster", *values);
  if (!unused) return unused.error();
  return Outcome(options);
}

}  // namespace flexlocal::provisioner
