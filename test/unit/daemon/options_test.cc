#include <doctest/doctest.h>

#include "provisioner/daemon/command_line.h"

namespace flexlocal::provisioner::test {
namespace {

using Arguments = std::vector<std::string>;
using std::chrono::milliseconds;

const std::string kOwnNodes = "--provisioning=distributed";

Result<DaemonOptions> parse(Arguments more) {
  more.insert(more.begin(), {"node", "--node-name=node-a"});
  auto parsed = parse_options(more);
  if (!parsed) return parsed.error();
  return std::get<DaemonOptions>(*parsed);
}

Result<DaemonOptions> parse_cluster(Arguments more) {
  more.insert(more.begin(), "cluster");
  auto parsed = parse_options(more);
  if (!parsed) return parsed.error();
  return std::get<DaemonOptions>(*parsed);
}

std::string words(const Arguments& arguments) {
  const auto parsed = parse_options(arguments);
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code() == ErrorCode::kInvalid);
  CHECK(parsed.error().message().find('\n') == std::string::npos);
  return parsed.error().message();
}

bool refused(const std::string& argument) {
  const auto parsed = parse({argument});
  return !parsed.ok() && parsed.error().code() == ErrorCode::kInvalid;
}

std::string said(const Arguments& arguments) {
  const auto parsed = parse_options(arguments);
  REQUIRE(parsed.ok());
  REQUIRE(std::holds_alternative<Say>(*parsed));
  return std::get<Say>(*parsed).text;
}

}  // namespace

TEST_CASE("a role and a node's name are enough, and the rest is as the help says") {
  const auto options = parse({});
  REQUIRE(options.ok());
  CHECK(options->node_name == "node-a");
  CHECK(options->kubeconfig.empty());
  CHECK(options->node_config == "/etc/flexlocal/node.conf");
  CHECK(options->host_proc.empty());
  CHECK(options->state_dir == "/var/lib/flexlocal");
  CHECK(options->lock_dir == "/run/flexlocal");
  CHECK_FALSE(options->kube_api_qps.has_value());
  CHECK(options->kube_api_burst == 200);
  CHECK(options->worker_threads == 4);
  CHECK(options->retry_interval_start == milliseconds(1000));
  CHECK(options->retry_interval_max == milliseconds(300'000));
  CHECK(options->timeout == milliseconds(30'000));
  CHECK(options->log_level == LogLevel::kInfo);
  CHECK(options->log_format == LogFormat::kText);
  CHECK_FALSE(options->http_endpoint.has_value());
  CHECK(options->metrics_path == "/metrics");
  CHECK(to_string(options->disk_per_ram) == "32");
  CHECK(to_string(options->ram_fraction) == "0.85");
}

TEST_CASE("every flag reaches its option") {
  const auto options = parse(
      {"--kubeconfig=/k", "--context=c", "--node-config=/n", "--host-proc=/proc/1",
       "--state-dir=/s", "--lock-dir=/l", "--kube-api-qps=0", "--kube-api-burst=1",
       "--worker-threads=64", "--retry-interval-start=500ms", "--retry-interval-max=2m",
       "--timeout=5s", "--log-level=debug", "--log-format=json", "--http-endpoint=127.0.0.1:9090",
       "--metrics-path=/m", "--disk-per-ram=0", "--ram-fraction=1"});
  REQUIRE(options.ok());
  CHECK(options->kubeconfig == "/k");
  CHECK(options->context == "c");
  CHECK(options->node_config == "/n");
  CHECK(options->host_proc == "/proc/1");
  CHECK(options->state_dir == "/s");
  CHECK(options->lock_dir == "/l");
  CHECK(options->kube_api_qps == 0);
  CHECK(options->kube_api_burst == 1);
  CHECK(options->worker_threads == 64);
  CHECK(options->retry_interval_start == milliseconds(500));
  CHECK(options->retry_interval_max == milliseconds(120'000));
  CHECK(options->timeout == milliseconds(5000));
  CHECK(options->log_level == LogLevel::kDebug);
  CHECK(options->log_format == LogFormat::kJson);
  REQUIRE(options->http_endpoint.has_value());
  CHECK(options->http_endpoint->host == "127.0.0.1");
  CHECK(options->http_endpoint->port == 9090);
  CHECK(options->metrics_path == "/m");
  CHECK(options->disk_per_ram == Ratio());
  CHECK(options->ram_fraction == Ratio::of_millionths(Ratio::kOne));
}

TEST_CASE("a missing or unknown role, or no node's name, is refused in one line") {
  const std::string help = "; see flexlocal-provisioner --help";
  CHECK(words({}) ==
        "no role: say flexlocal-provisioner node, or flexlocal-provisioner cluster" + help);
  CHECK(words({"nodes"}) == "role \"nodes\" is not known; accepted: node, cluster, budget" + help);
  CHECK(words({"a\nb"}) == "role \"a?b\" is not known; accepted: node, cluster, budget" + help);
  CHECK(words({"node"}) == "--node-name is missing" + help);
  CHECK(words({"node", "--node-name", ""}) == "--node-name is missing" + help);
}

TEST_CASE("the cluster role needs no node, and has flags of its own") {
  const auto plain = parse_cluster({});
  REQUIRE(plain.ok());
  CHECK(plain->role == Role::kCluster);
  CHECK(plain->leader_election);
  CHECK(plain->lease_duration == milliseconds(15'000));
  CHECK(plain->renew_deadline == milliseconds(10'000));
  CHECK(plain->retry_period == milliseconds(2'000));
  CHECK(plain->node_lost_after == milliseconds(120'000));
  CHECK(plain->node_delete_grace == milliseconds(600'000));
  CHECK(plain->node_delete_policy == NodeDeletePolicy::kReport);
  CHECK(plain->namespace_name.empty());
  CHECK(plain->lease_namespace == "flexlocal-nodes");
  const auto options = parse_cluster(
      {"--leader-election=false", "--leader-election-lease-duration=3s",
       "--leader-election-renew-deadline=2s", "--leader-election-retry-period=500ms",
       "--node-lost-after=5m", "--node-delete-grace=30m", "--node-delete-policy=orphan",
       "--namespace=storage", "--lease-namespace=storage-nodes"});
  REQUIRE(options.ok());
  CHECK_FALSE(options->leader_election);
  CHECK(options->lease_duration == milliseconds(3'000));
  CHECK(options->renew_deadline == milliseconds(2'000));
  CHECK(options->retry_period == milliseconds(500));
  CHECK(options->node_lost_after == milliseconds(300'000));
  CHECK(options->node_delete_grace == milliseconds(1'800'000));
  CHECK(options->node_delete_policy == NodeDeletePolicy::kOrphan);
  CHECK(options->namespace_name == "storage");
  CHECK(options->lease_namespace == "storage-nodes");
}

TEST_CASE("all roles know the Leases of nodes by one namespace, which must have a name") {
  CHECK(parse({})->lease_namespace == "flexlocal-nodes");
  const auto budget = parse_options({"budget", "--lease-namespace=storage-nodes"});
  REQUIRE(budget.ok());
  CHECK(std::get<DaemonOptions>(*budget).lease_namespace == "storage-nodes");
  CHECK(words({"node", "--node-name=a", "--lease-namespace", ""}) ==
        "--lease-namespace: accepted is the name of a namespace; see flexlocal-provisioner --help");
}

TEST_CASE("the cluster role's values are refused with what is accepted") {
  const std::string help = "; see flexlocal-provisioner --help";
  CHECK(words({"cluster", "--node-delete-policy=all"}) ==
        "--node-delete-policy: accepted are tell, orphan, delete" + help);
  CHECK(words({"cluster", "--immediate=yes"}) ==
        "--immediate: accepted are central, rank, off" + help);
  CHECK(words({"cluster", "--leader-election-lease-duration=10s"}) ==
        "--leader-election-lease-duration must be longer than --leader-election-renew-deadline" +
            help);
  CHECK(words({"cluster", "--leader-election-retry-period=9s"}) ==
        "--leader-election-renew-deadline must be longer than 1.2 times "
        "--leader-election-retry-period" +
            help);
  CHECK_FALSE(parse_cluster({"--leader-election=perhaps"}).ok());
}

TEST_CASE("the cluster daemon decides about volumes, unless all daemons are told otherwise") {
  CHECK(parse({})->provisioning == Provisioning::kCentral);
  CHECK(parse({kOwnNodes})->provisioning == Provisioning::kDistributed);
  CHECK(parse_cluster({kOwnNodes})->provisioning == Provisioning::kDistributed);
  CHECK(words({"node", "--node-name=a", "--provisioning=both"}) ==
        "--provisioning: accepted are central, distributed; see flexlocal-provisioner --help");
  CHECK(words({"node", "--node-name=a", "--orphan-policy=delete"})
            .starts_with("--orphan-policy=delete is for the role cluster"));
}

TEST_CASE("whichever role decides can be told to tell of no room") {
  CHECK(parse({})->enable_capacity);
  CHECK_FALSE(parse_cluster({"--enable-capacity=false"})->enable_capacity);
  CHECK_FALSE(parse({"--enable-capacity=false", kOwnNodes})->enable_capacity);
  CHECK(parse_cluster({"--daemon-set=local"})->daemon_set == "local");
}

TEST_CASE("both roles have their own words for Immediate binding, and their own default") {
  const std::string help = "; see flexlocal-provisioner --help";
  CHECK(parse_cluster({})->immediate == ImmediateBinding::kCentral);
  CHECK(parse_cluster({"--immediate=central"})->immediate == ImmediateBinding::kCentral);
  CHECK(parse_cluster({"--immediate=rank", kOwnNodes})->immediate == ImmediateBinding::kRank);
  CHECK(parse_cluster({"--immediate=off"})->immediate == ImmediateBinding::kOff);
  CHECK(parse({})->immediate == ImmediateBinding::kOff);
  CHECK(parse({"--immediate=off"})->immediate == ImmediateBinding::kOff);
  CHECK(parse({"--immediate=rank", kOwnNodes})->immediate == ImmediateBinding::kRank);
  CHECK(words({"node", "--node-name=a", "--immediate=central"}) ==
        "--immediate: accepted by the role node are rank, off" + help);
  CHECK(words({"node", "--node-name=a", "--immediate=rank"}) ==
        "--immediate=rank needs --provisioning=distributed" + help);
  CHECK(words({"cluster", "--immediate=rank"}) ==
        "--immediate=rank needs --provisioning=distributed" + help);
  CHECK(
      words({"node", "--node-name=a", "--immediate=rank", kOwnNodes, "--enable-capacity=false"}) ==
      "--immediate=rank needs --enable-capacity: it is how nodes know of each other's room" + help);
  CHECK_FALSE(parse({"--immediate="}).ok());
  CHECK(words({"budget", "--immediate=off"}) == "--immediate is not for the role budget" + help);
}

TEST_CASE("a flag of the other role is refused: it would do nothing") {
  const std::string help = "; see flexlocal-provisioner --help";
  CHECK(words({"cluster", "--node-name=a"}) == "--node-name is not for the role cluster" + help);
  CHECK(words({"node", "--node-name=a", "--node-lost-after=1m"}) ==
        "--node-lost-after is not for the role node" + help);
}

TEST_CASE("unknown, abbreviated, repeated and superfluous arguments are refused") {
  CHECK(refused("--nosuch"));
  CHECK(refused("--kube-api-q=1"));
  CHECK(refused("--node-name=twice"));
  CHECK(refused("extra"));
  CHECK(refused("--kubeconfig"));
}

TEST_CASE("numbers out of range, or no numbers, are refused with the range") {
  for (const char* value : {"-1", "nan", "inf", "100001", "x", "Auto", ""})
    CHECK(refused(std::string("--kube-api-qps=") + value));
  CHECK_FALSE(parse({"--kube-api-qps=auto"})->kube_api_qps.has_value());
  for (const char* value : {"0", "0.5", "-1", "nan", "100001"})
    CHECK(refused(std::string("--kube-api-burst=") + value));
  for (const char* value : {"0", "65", "-1", "4294967297", "1.5", "x"})
    CHECK(refused(std::string("--worker-threads=") + value));
  for (const char* value : {"65", "x"})
    CHECK(words({"node", "--node-name=a", std::string("--worker-threads=") + value}) ==
          "--worker-threads: accepted are 1 to 64; see flexlocal-provisioner --help");
  CHECK(words({"node", "--node-name=a", "--kube-api-qps=1e3"}) ==
        "--kube-api-qps: accepted are auto, and 0 to 100000; see flexlocal-provisioner --help");
}

TEST_CASE("a fraction of the memory is above nothing and at most all of it") {
  for (const char* value : {"0", "1.000001", "-0.5", "85%", ""})
    CHECK(refused(std::string("--ram-fraction=") + value));
  CHECK(refused("--disk-per-ram=lots"));
  CHECK(words({"node", "--node-name=a", "--ram-fraction=2"}) ==
        "--ram-fraction: accepted are numbers above 0, up to 1, such as 0.85; see "
        "flexlocal-provisioner --help");
  CHECK(
      words({"budget", "--log-level=info"}).starts_with("--log-level is not for the role budget"));
  CHECK(words({"budget", "--node-name=a"}).starts_with("--node-name is not for the role budget"));
  CHECK(words({"cluster", "--disk-per-ram=1"}) ==
        "--disk-per-ram is not for the role cluster; see flexlocal-provisioner --help");
}

TEST_CASE("durations need a unit, are positive, and are refused with examples") {
  for (const char* flag : {"retry-interval-start", "retry-interval-max", "timeout"})
    for (const char* value : {"", "5", "s", "0s", "-1s", "1d", "1.5s", "1 s", "1000001s", "5S"})
      CHECK(refused(std::string("--") + flag + "=" + value));
  CHECK(words({"node", "--node-name=a", "--timeout=5"}) ==
        "--timeout=5: accepted are durations such as 500ms, 30s, 5m, 1h");
}

TEST_CASE("the longest pause is not shorter than the first") {
  CHECK(words({"node", "--node-name=a", "--retry-interval-start=2s", "--retry-interval-max=1s"}) ==
        "--retry-interval-max is less than --retry-interval-start; see flexlocal-provisioner "
        "--help");
  CHECK(parse({"--retry-interval-start=1s", "--retry-interval-max=1s"}).ok());
}

TEST_CASE("an unknown log level is refused with those that are known") {
  CHECK(words({"node", "--node-name=a", "--log-level=loud"}) ==
        "--log-level: accepted are debug, info, warning, error; see flexlocal-provisioner --help");
}

TEST_CASE("an unknown log format, and status pages that cannot be, are refused with what can be") {
  CHECK(words({"node", "--node-name=a", "--log-format=yaml"}) ==
        "--log-format: accepted are text, json; see flexlocal-provisioner --help");
  CHECK(words({"node", "--node-name=a", "--http-endpoint=8080"}) ==
        "--http-endpoint: \"8080\": accepted are :PORT, ADDRESS:PORT, [IPV6-ADDRESS]:PORT");
  for (const char* path : {"", "metrics", "/healthz", "/readyz", "/a b", "/a?b", "/a\n"})
    CHECK(refused(std::string("--metrics-path=") + path));
}

TEST_CASE("help names every flag, and version one line, whatever else is missing") {
  const std::string help = said({"--help"});
  for (const char* flag : {"kubeconfig",
                           "context",
                           "kube-api-qps",
                           "kube-api-burst",
                           "timeout",
                           "node-name",
                           "node-config",
                           "host-proc",
                           "state-dir",
                           "lock-dir",
                           "worker-threads",
                           "retry-interval-start",
                           "retry-interval-max",
                           "log-level",
                           "log-format",
                           "http-endpoint",
                           "metrics-path",
                           "disk-per-ram",
                           "ram-fraction",
                           "give-up-promises",
                           "orphan-grace",
                           "orphan-policy",
                           "config",
                           "help",
                           "version",
                           "namespace",
                           "leader-election",
                           "leader-election-lease-duration",
                           "leader-election-renew-deadline",
                           "leader-election-retry-period",
                           "label-nodes",
                           "register",
                           "immediate",
                           "enable-capacity",
                           "daemon-set",
                           "capacity-poll-interval",
                           "node-lost-after",
                           "node-delete-policy",
                           "node-delete-grace"})
    CHECK(help.find(std::string("--") + flag) != std::string::npos);
  CHECK(help.starts_with("flexlocal-provisioner: "));
  const std::string version = said({"--version"});
  CHECK(version.starts_with("flexlocal-provisioner "));
  CHECK(version.find('\n') == version.size() - 1);
}

}  // namespace flexlocal::provisioner::test
