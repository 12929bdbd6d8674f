#include "provisioner/daemon/options_check.h"

#include <algorithm>
#include <charconv>

#include "flexvolume/base/text.h"
#include "provisioner/kube/election.h"

namespace flexlocal::provisioner {
namespace {

using std::chrono::milliseconds;

// "500ms", "30s", "5m", as the reference's flags have it.
Result<milliseconds> parse_duration(std::string_view flag, const std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = std::string_view(text).substr(digits);
  const unsigned long long factor = unit == "ms"  ? 1
                                    : unit == "s" ? 1000
                                    : unit == "m" ? 60'000
                                    : unit == "h" ? 3'600'000
                                                  : 0;
  unsigned long long count = 0;
  if (factor == 0 || !parse_number(std::string_view(text).substr(0, digits), 1'000'000, count) ||
      count == 0)
    return Error(ErrorCode::kInvalid,
                 concat("--", flag, "=", printable(text, 40),
                        ": accepted are durations such as 500ms, 30s, 5m, 1h"));
  return milliseconds(count * factor);
}

Status read_durations(const RawOptions& raw, DaemonOptions& options) {
  const std::map<std::string_view, milliseconds*> places = {
      {"retry-interval-start", &options.retry_interval_start},
      {"retry-interval-max", &options.retry_interval_max},
      {"timeout", &options.timeout},
      {"orphan-grace", &options.orphan_grace},
      {"capacity-poll-interval", &options.capacity_poll_interval},
      {"leader-election-lease-duration", &options.lease_duration},
      {"leader-election-renew-deadline", &options.renew_deadline},
      {"leader-election-retry-period", &options.retry_period},
      {"node-lost-after", &options.node_lost_after},
      {"node-delete-grace", &options.node_delete_grace}};
  for (const auto& [flag, text] : raw.durations) {
    const auto parsed = parse_duration(flag, text);
    if (!parsed) return parsed.error();
    *places.at(flag) = *parsed;
  }
  return {};
}

// Decimal, with or without a fraction.
Result<double> read_number(const RawOptions& raw, const char* flag, double least, double most) {
  const std::string& text = raw.numbers.at(flag);
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto read = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  // Written so that what is no number is not in between, either.
  if (read.ec != std::errc() || read.ptr != end || !(number >= least && number <= most))
    return wrong_usage(concat("--", flag, ": accepted are ", static_cast<int>(least), " to ",
                              static_cast<int>(most)));
  return number;
}

Status read_ratios(const RawOptions& raw, DaemonOptions& options) {
  const auto disk = parse_ratio(raw.numbers.at("disk-per-ram"));
  if (!disk) return disk.error().context("--disk-per-ram");
  options.disk_per_ram = *disk;
  const auto fraction = parse_ratio(raw.numbers.at("ram-fraction"));
  if (!fraction || *fraction == Ratio() || *fraction > Ratio::of_millionths(Ratio::kOne))
    return wrong_usage("--ram-fraction: accepted are numbers above 0, up to 1, such as 0.85");
  options.ram_fraction = *fraction;
  return {};
}

Status read_numbers(const RawOptions& raw, DaemonOptions& options) {
  if (raw.numbers.at("kube-api-qps") != "auto") {
    const auto qps = read_number(raw, "kube-api-qps", 0, 100'000);
    if (!qps) return wrong_usage("--kube-api-qps: accepted are auto, and 0 to 100000");
    options.kube_api_qps = *qps;
  }
  const auto burst = read_number(raw, "kube-api-burst", 1, 100'000);
  if (!burst) return burst.error();
  options.kube_api_burst = *burst;
  unsigned long long threads = 0;
  if (!parse_number(raw.numbers.at("worker-threads"), 64, threads) || threads == 0)
    return wrong_usage("--worker-threads: accepted are 1 to 64");
  options.worker_threads = static_cast<unsigned>(threads);
  return {};
}

Status read_words(const RawOptions& raw, DaemonOptions& options) {
  // Without one, paths would be those of all namespaces.
  if (options.lease_namespace.empty())
    return wrong_usage("--lease-namespace: accepted is the name of a namespace");
  if (!parse_log_level(raw.log_level, options.log_level))
    return wrong_usage("--log-level: accepted are debug, info, warning, error");
  if (!parse_log_format(raw.log_format, options.log_format))
    return wrong_usage("--log-format: accepted are text, json");
  const std::map<std::string_view, NodeDeletePolicy> policies = {
      {"tell", NodeDeletePolicy::kReport},
      {"orphan", NodeDeletePolicy::kOrphan},
      {"delete", NodeDeletePolicy::kDelete}};
  const auto policy = policies.find(raw.node_delete_policy);
  if (policy == policies.end())
    return wrong_usage("--node-delete-policy: accepted are tell, orphan, delete");
  options.node_delete_policy = policy->second;
  return {};
}

// A node that does not rank has nothing to do with who else chooses.
Status read_immediate(const RawOptions& raw, DaemonOptions& options) {
  std::map<std::string_view, ImmediateBinding> words = {{"rank", ImmediateBinding::kRank},
                                                        {"off", ImmediateBinding::kOff}};
  const bool node = options.role == Role::kNode;
  if (!node) words["central"] = ImmediateBinding::kCentral;
  options.immediate = node ? ImmediateBinding::kOff : ImmediateBinding::kCentral;
  if (!raw.immediate) return {};
  const auto word = words.find(*raw.immediate);
  if (word == words.end())
    return wrong_usage(node ? "--immediate: accepted by the role node are rank, off"
                            : "--immediate: accepted are central, rank, off");
  options.immediate = word->second;
  return {};
}

Status read_provisioning(const RawOptions& raw, DaemonOptions& options) {
  const bool central = raw.provisioning == "central";
  if (!central && raw.provisioning != "distributed")
    return wrong_usage("--provisioning: accepted are central, distributed");
  options.provisioning = central ? Provisioning::kCentral : Provisioning::kDistributed;
  return {};
}

Status read_orphan_policy(const RawOptions& raw, DaemonOptions& options) {
  const auto policy = parse_orphan_policy(raw.orphan_policy);
  if (!policy) return policy.error().context("--orphan-policy");
  options.orphan_policy = *policy;
  return {};
}

Status read_status_pages(const RawOptions& raw, DaemonOptions& options) {
  const std::string& path = options.metrics_path;
  if (!path.starts_with('/') || path.find_first_of("? \t\r\n") != std::string::npos ||
      path == "/healthz" || path == "/readyz")
    return wrong_usage("--metrics-path: accepted is a path such as /metrics");
  if (raw.http_endpoint.empty()) return {};
  const auto endpoint = parse_endpoint(raw.http_endpoint);
  if (!endpoint) return endpoint.error().context("--http-endpoint");
  options.http_endpoint = *endpoint;
  return {};
}

Status check_election(const DaemonOptions& options) {
  kube::ElectionOptions election;
  election.lease_duration = options.lease_duration;
  election.renew_deadline = options.renew_deadline;
  election.retry_period = options.retry_period;
  const Status valid = kube::validate(election);
  return valid ? Status() : Status(wrong_usage(valid.error().message()));
}

}  // namespace

Error wrong_usage(std::string_view why) {
  return Error(ErrorCode::kInvalid, concat(why, "; see flexlocal-provisioner --help"));
}

Status check_role(const RawOptions& raw, DaemonOptions& options) {
  if (raw.role.empty())
    return wrong_usage("no role: say flexlocal-provisioner node, or flexlocal-provisioner cluster");
  const std::map<std::string_view, Role> roles = {
      {"node", Role::kNode}, {"cluster", Role::kCluster}, {"budget", Role::kBudget}};
  const auto role = roles.find(raw.role);
  if (role == roles.end())
    return wrong_usage(concat("role \"", printable(raw.role, 40),
                              "\" is not known; accepted: node, cluster, budget"));
  options.role = role->second;
  return {};
}

Status check_values(const RawOptions& raw, DaemonOptions& options) {
  if (auto numbers = read_numbers(raw, options); !numbers) return numbers;
  if (auto ratios = read_ratios(raw, options); !ratios) return ratios;
  if (auto words = read_words(raw, options); !words) return words;
  if (auto immediate = read_immediate(raw, options); !immediate) return immediate;
  if (auto provisioning = read_provisioning(raw, options); !provisioning) return provisioning;
  if (auto orphans = read_orphan_policy(raw, options); !orphans) return orphans;
  if (auto pages = read_status_pages(raw, options); !pages) return pages;
  return read_durations(raw, options);
}

Status check_together(const DaemonOptions& options) {
  if (options.retry_interval_max < options.retry_interval_start)
    return wrong_usage("--retry-interval-max is less than --retry-interval-start");
  const bool ranks = options.immediate == ImmediateBinding::kRank;
  if (ranks && options.provisioning == Provisioning::kCentral)
    return wrong_usage("--immediate=rank needs --provisioning=distributed");
  if (options.role == Role::kNode && ranks && !options.enable_capacity)
    return wrong_usage(
        "--immediate=rank needs --enable-capacity: it is how nodes know of each other's room");
  const bool decides =
      (options.role == Role::kNode) == (options.provisioning == Provisioning::kDistributed);
  if (options.orphan_policy == OrphanPolicy::kDelete && !decides)
    return wrong_usage(concat("--orphan-policy=delete is for the role ",
                              options.role == Role::kNode ? "cluster" : "node",
                              " with this --provisioning, which decides about volumes"));
  return check_election(options);
}

}  // namespace flexlocal::provisioner
