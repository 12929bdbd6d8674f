#include <doctest/doctest.h>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "provisioner/daemon/command_line.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::milliseconds;

struct Fixture {
  TemporaryFolder folder;
  std::string path = folder.path("daemon.conf");

  Result<DaemonOptions> parse(std::string_view file, std::vector<std::string> arguments) {
    REQUIRE(write_file_atomically(path, file, 0600).ok());
    arguments.push_back("--config=" + path);
    auto parsed = parse_options(arguments);
    if (!parsed) return parsed.error();
    return std::get<DaemonOptions>(*parsed);
  }
  // What is said of a file for the role node, after the file's name.
  std::string complaint(std::string_view file, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"node", "--node-name=a"});
    const auto parsed = parse(file, more);
    REQUIRE_FALSE(parsed.ok());
    const std::string& message = parsed.error().message();
    CHECK(parsed.error().code() == ErrorCode::kInvalid);
    CHECK(message.find('\n') == std::string::npos);
    REQUIRE(message.find(path) != std::string::npos);
    return message.substr(message.find(path) + path.size());
  }
};

constexpr std::string_view kHelp = "; see flexlocal-provisioner --help";

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a configuration file holds the flags by their names") {
  const auto options = parse(
      "# of node a\n"
      "node-name = a\n"
      "\n"
      "kube-api-qps=0.5   # slow\n"
      "  worker-threads = 8\n"
      "timeout = 5s\n"
      "log-format = json\n"
      "host-proc =\n"
      "provisioning = distributed\n"
      "orphan-policy = delete\n",
      {"node"});
  REQUIRE(options.ok());
  CHECK(options->node_name == "a");
  CHECK(options->kube_api_qps == 0.5);
  CHECK(options->kube_api_burst == 200);
  CHECK(options->worker_threads == 8);
  CHECK(options->timeout == milliseconds(5000));
  CHECK(options->log_format == LogFormat::kJson);
  CHECK(options->host_proc.empty());
  CHECK(options->orphan_policy == OrphanPolicy::kDelete);
  const auto cluster = parse("leader-election = false\nnode-lost-after = 5m\n", {"cluster"});
  REQUIRE(cluster.ok());
  CHECK_FALSE(cluster->leader_election);
  CHECK(cluster->node_lost_after == milliseconds(300'000));
  CHECK(parse("", {"cluster"}).ok());
}

TEST_CASE_FIXTURE(Fixture, "the command line wins over the file, also with what is the default") {
  const auto options = parse("worker-threads = 8\ntimeout = 5s\nnode-name = b\n",
                             {"node", "--node-name=a", "--worker-threads=4"});
  REQUIRE(options.ok());
  CHECK(options->node_name == "a");
  CHECK(options->worker_threads == 4);
  CHECK(options->timeout == milliseconds(5000));
}

TEST_CASE_FIXTURE(Fixture,
                  "what is wrong in the file is refused with its name and what is accepted") {
  CHECK(complaint("worker-threads = 65\n") ==
        concat(": --worker-threads: accepted are 1 to 64", kHelp));
  CHECK(complaint("worker-threads = many\n") ==
        concat(": --worker-threads: accepted are 1 to 64", kHelp));
  CHECK(complaint("kube-api-burst = x\n") ==
        concat(": --kube-api-burst: accepted are 1 to 100000", kHelp));
  CHECK(complaint("timeout = 5\n") ==
        ": --timeout=5: accepted are durations such as 500ms, 30s, 5m, 1h");
  CHECK(complaint("log-level = loud\n", {"--log-level=info"}) ==
        concat(": --log-level: accepted are debug, info, warning, error", kHelp));
  CHECK(complaint("node-lost-after = 5m\n") ==
        concat(": --node-lost-after is not for the role node", kHelp));
  CHECK(complaint("colour = red\n") == concat(": unrecognised option 'colour'", kHelp));
  CHECK(complaint("[node]\ntimeout = 5s\n") ==
        concat(": unrecognised option 'node.timeout'", kHelp));
  CHECK(complaint("timeout 5s\n").find("invalid line") != std::string::npos);
  CHECK(complaint("timeout = 5s\ntimeout = 6s\n").find("timeout") != std::string::npos);
  for (const char* const own : {"config = x\n", "help = 1\n", "version = 1\n", "role = node\n"})
    CHECK(complaint(own).find("unrecognised option") != std::string::npos);
  CHECK(complaint("a\001b = 1\n").find("'a?b'") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "values that do not fit together name the file, once it plays a part") {
  CHECK(complaint("retry-interval-max = 500ms\n") ==
        concat(": --retry-interval-max is less than --retry-interval-start", kHelp));
  CHECK(parse("retry-interval-max = 500ms\n",
              {"node", "--node-name=a", "--retry-interval-start=100ms"})
            .ok());
}

TEST_CASE_FIXTURE(Fixture, "a file that is missing, a folder or far too long is one line") {
  const auto said = [](const std::string& file) {
    const auto parsed = parse_options({"cluster", "--config=" + file});
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().message().find('\n') == std::string::npos);
    return parsed.error().message();
  };
  CHECK(said("/nowhere/daemon.conf") ==
        "--config: opening /nowhere/daemon.conf: No such file or directory");
  CHECK(said(folder.path("")).find("is not a plain file") != std::string::npos);
  REQUIRE(write_file_atomically(path, std::string(1'100'000, '#'), 0600).ok());
  CHECK(said(path).find(path) != std::string::npos);
  CHECK(parse_options({"--help", "--config=/nowhere"}).ok());
}

TEST_CASE_FIXTURE(Fixture,
                  "the words of a flag that both roles have are the role's in a file, too") {
  CHECK(parse("immediate = central\n", {"cluster"})->immediate == ImmediateBinding::kCentral);
  CHECK(parse("immediate = rank\nprovisioning = distributed\n", {"node", "--node-name=a"})
            ->immediate == ImmediateBinding::kRank);
  CHECK(complaint("immediate = central\n").find("accepted by the role node are rank, off") !=
        std::string::npos);
  CHECK(complaint("immediate =\n").find("accepted by the role node are rank, off") !=
        std::string::npos);
}

}  // namespace flexlocal::provisioner::test
