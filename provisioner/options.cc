#include "provisioner/options.h"

#include <boost/program_options.hpp>
#include <sstream>

#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "flexvolume/engine/node_config.h"
#include "flexvolume/engine/volume_lock.h"
#include "provisioner/grant_signer.h"

namespace flexlocal::provisioner {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kUsage =
    "flexlocal-provisioner: makes and reclaims the volumes of this node's claims\n"
    "\n"
    "usage: flexlocal-provisioner node --node-name=NAME [options]\n"
    "\n";

// "500ms", "30s", "5m", as the reference's flags have it.
Result<std::chrono::milliseconds> parse_duration(std::string_view flag, const std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = std::string_view(text).substr(digits);
  const unsigned long long factor = unit == "ms"  ? 1
                                    : unit == "s" ? 1000
                                    : unit == "m" ? 60'000
                                                  : 0;
  unsigned long long count = 0;
  if (factor == 0 || !parse_number(std::string_view(text).substr(0, digits), 1'000'000, count) ||
      count == 0)
    return Error(ErrorCode::kInvalid, concat("--", flag, "=", printable(text, 40),
                                             ": accepted are durations such as 500ms, 30s, 5m"));
  return std::chrono::milliseconds(count * factor);
}

struct Flags {
  po::options_description all;
  std::string role, log_level, log_format, retry_start, retry_max, timeout, http_endpoint;
};

// One flag: its place, its default where it has one, and the name of its value in --help.
template <typename T>
auto* flag(T& into, const char* value_name) {
  return po::value(&into)->value_name(value_name);
}

po::options_description cluster_flags(Flags& flags, DaemonOptions& options) {
  po::options_description all("The API server");
  auto add = all.add_options();
  add("kubeconfig", flag(options.kubeconfig, "FILE"),
      "kubeconfig file; without it the pod's service account is used");
  add("context", flag(options.context, "NAME"),
      "context of the kubeconfig; default: its current one");
  add("kube-api-qps", flag(options.kube_api_qps, "N")->default_value(20),
      "requests a second to the API server, 0: no limit");
  add("kube-api-burst", flag(options.kube_api_burst, "N")->default_value(30),
      "requests that may go at once after a pause");
  add("timeout", flag(flags.timeout, "TIME")->default_value("30s"), "longest wait for one answer");
  return all;
}

po::options_description node_flags(DaemonOptions& options) {
  po::options_description all("The node");
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
  return all;
}

po::options_description work_flags(Flags& flags, DaemonOptions& options) {
  po::options_description all("Work");
  auto add = all.add_options();
  add("worker-threads", flag(options.worker_threads, "N")->default_value(4),
      "claims and volumes worked on at once, 1 to 64");
  add("retry-interval-start", flag(flags.retry_start, "TIME")->default_value("1s"),
      "first pause after a failure; it doubles with each");
  add("retry-interval-max", flag(flags.retry_max, "TIME")->default_value("5m"),
      "longest pause after failures");
  add("log-level", flag(flags.log_level, "LEVEL")->default_value("info"),
      "debug, info, warning or error");
  add("log-format", flag(flags.log_format, "FORMAT")->default_value("text"),
      "text: key=value; json: one object a line");
  add("http-endpoint", flag(flags.http_endpoint, "ADDRESS")->default_value(""),
      "where to serve /healthz, /readyz and the metrics, such as :8080; empty: nowhere");
  add("metrics-path", flag(options.metrics_path, "PATH")->default_value("/metrics"),
      "path of the metrics there");
  add("help", "print this");
  add("version", "print the version");
  return all;
}

Error wrong(std::string_view why) {
  return Error(ErrorCode::kInvalid, concat(why, "; see flexlocal-provisioner --help"));
}

Status check_status_pages(const Flags& flags, DaemonOptions& options) {
  const std::string& path = options.metrics_path;
  if (!path.starts_with('/') || path.find_first_of("? \t\r\n") != std::string::npos ||
      path == "/healthz" || path == "/readyz")
    return wrong("--metrics-path: accepted is a path such as /metrics");
  if (flags.http_endpoint.empty()) return {};
  const auto endpoint = parse_endpoint(flags.http_endpoint);
  if (!endpoint) return endpoint.error().context("--http-endpoint");
  options.http_endpoint = *endpoint;
  return {};
}

Status check(const Flags& flags, DaemonOptions& options) {
  if (flags.role.empty()) return wrong("no role: say flexlocal-provisioner node");
  if (flags.role != "node")
    return wrong(concat("role \"", printable(flags.role, 40), "\" is not known; accepted: node"));
  if (options.node_name.empty()) return wrong("--node-name is missing");
  if (!(options.kube_api_qps >= 0 && options.kube_api_qps <= 100'000))
    return wrong("--kube-api-qps: accepted are 0 to 100000");
  if (!(options.kube_api_burst >= 1 && options.kube_api_burst <= 100'000))
    return wrong("--kube-api-burst: accepted are 1 to 100000");
  if (options.worker_threads < 1 || options.worker_threads > 64)
    return wrong("--worker-threads: accepted are 1 to 64");
  if (!parse_log_level(flags.log_level, options.log_level))
    return wrong("--log-level: accepted are debug, info, warning, error");
  if (!parse_log_format(flags.log_format, options.log_format))
    return wrong("--log-format: accepted are text, json");
  if (auto checked = check_status_pages(flags, options); !checked) return checked;
  struct Duration {
    std::string_view flag;
    const std::string& text;
    std::chrono::milliseconds& into;
  };
  for (const Duration& duration :
       {Duration{"retry-interval-start", flags.retry_start, options.retry_interval_start},
        Duration{"retry-interval-max", flags.retry_max, options.retry_interval_max},
        Duration{"timeout", flags.timeout, options.timeout}}) {
    const auto parsed = parse_duration(duration.flag, duration.text);
    if (!parsed) return parsed.error();
    duration.into = *parsed;
  }
  if (options.retry_interval_max < options.retry_interval_start)
    return wrong("--retry-interval-max is less than --retry-interval-start");
  return {};
}

}  // namespace

Result<std::variant<DaemonOptions, Say>> parse_options(const std::vector<std::string>& arguments) {
  DaemonOptions options;
  Flags flags;
  flags.all.add(cluster_flags(flags, options))
      .add(node_flags(options))
      .add(work_flags(flags, options));
  po::options_description hidden;
  hidden.add_options()("role", po::value(&flags.role));
  po::options_description both;
  both.add(flags.all).add(hidden);
  po::positional_options_description positional;
  positional.add("role", 1);
  po::variables_map values;
  try {
    // Without guessing: an abbreviation that works today is another flag's tomorrow.
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(arguments).options(both).positional(positional).style(style).run(),
        values);
    po::notify(values);
  } catch (const po::error& error) {
    return wrong(error.what());
  }
  if (values.contains("help")) {
    std::ostringstream text;
    text << kUsage << flags.all;
    return std::variant<DaemonOptions, Say>(Say{text.str()});
  }
  if (values.contains("version"))
    return std::variant<DaemonOptions, Say>(Say{concat("flexlocal-provisioner ", version(), '\n')});
  if (auto checked = check(flags, options); !checked) return checked.error();
  return std::variant<DaemonOptions, Say>(options);
}

}  // namespace flexlocal::provisioner
