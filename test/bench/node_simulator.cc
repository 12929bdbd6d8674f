// A node daemon without disks, for the bench of the Kubernetes half: the real node role with the
// real client, on a pool that is a number.
//
//   node-simulator NODE KUBECONFIG POOL_BYTES GRANT_KEY_FILE [NAMESPACE]
//
// With a namespace it keeps a CSIStorageCapacity there for each class.
// Prints "synced" and the ms since its start once its first lists are complete, works until
// SIGTERM, and then prints one line of JSON: its CPU time in ms until it had synced and after that,
// and its peak resident memory in KiB. Exit status: 0, or 1 when it could not begin.

#include <sys/resource.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <iostream>
#include <string>

#include "flexvolume/base/text.h"
#include "provisioner/kube/curl_http.h"
#include "provisioner/node_role.h"

namespace flexlocal::provisioner {
namespace {

namespace asio = boost::asio;

// What is made is counted by the ledger from the PersistentVolumes alone, as on a node whose
// volumes nobody has mounted yet.
class NoDisks final : public Storage {
 public:
  explicit NoDisks(Bytes size) {
    present_.spaces.push_back({"group:sim", size, size, Bytes(4 * kMiB.count()), {}});
  }
  Task<Result<engine::Inventory>> inventory() override { co_return present_; }
  Task<Status> promise(const engine::VolumeSpec&) override { co_return Status(); }
  Task<Status> withdraw(const engine::PromisedVolume&) override { co_return Status(); }
  // What is grown has not been made: only its promise grows.
  Task<Status> grow(const engine::VolumeSpec&, Bytes) override {
    co_return Error(ErrorCode::kNotFound, "not made yet");
  }
  Task<Result<engine::Removal>> remove(const engine::VolumeSpec&) override {
    co_return engine::Removal{};
  }
  Task<Status> set_retained(const engine::VolumeSpec&, engine::Retained) override {
    co_return Status();
  }
  Task<Status> settle(const engine::Inventory&) override { co_return Status(); }
  Task<Status> refresh_io_limits() override { co_return Status(); }

 private:
  engine::Inventory present_;
};

engine::NodeConfig one_pool() {
  engine::NodeConfig config;
  config.pools["default"].volume_group = "sim";
  return config;
}

struct Arguments {
  std::string node;
  std::string kubeconfig;
  Bytes pool;
  std::string grant_key;
  std::string capacity_namespace;  // empty: none
};

double milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

struct Usage {
  double cpu_ms;
  long rss_kib;
};

Usage usage() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return {milliseconds(used.ru_utime) + milliseconds(used.ru_stime), used.ru_maxrss};
}

class Simulator {
 public:
  Simulator(const Arguments& arguments, Log& log)
      : arguments_(arguments), log_(log), storage_(arguments.pool), config_(one_pool()) {}

  Status run() {
    const auto cluster = kube::load_kubeconfig(arguments_.kubeconfig, "");
    if (!cluster) return cluster.error();
    auto http = kube::CurlHttp::make(io_, clock_, log_, *cluster);
    if (!http) return http.error();
    // The daemon's own limit would be what is measured.
    kube::ApiClient api(**http, clock_, {.limit = {0, 1}});
    asio::signal_set signals(io_, SIGTERM);
    kube::TaskGroup tasks(io_);
    tasks.spawn(serve(api, signals));
    io_.run();
    return result_;
  }

  double start_cpu_ms() const { return start_cpu_ms_; }

 private:
  Task<void> serve(kube::ApiClient& api, asio::signal_set& signals) {
    auto membership = co_await load_membership(api, arguments_.node);
    if (!membership) {
      result_ = membership.error();
      co_return;
    }
    NodeRoleOptions options;
    options.grants = {arguments_.grant_key, arguments_.grant_key};
    options.capacity.enabled = !arguments_.capacity_namespace.empty();
    options.capacity.namespace_name = arguments_.capacity_namespace;
    options.capacity.daemon_set = "none";
    NodeRole role(io_, api, storage_, config_, clock_, log_, *membership, options);
    signals.async_wait([&role](const boost::system::error_code& error, int) {
      if (!error) role.stop();
    });
    kube::TaskGroup announcement(io_);
    announcement.spawn(announce(role));
    co_await role.run();
    announcement.cancel();
    auto ended = co_await announcement.join();
    if (!ended) result_ = ended;
  }

  Task<void> announce(const NodeRole& role) {
    const auto start = std::chrono::steady_clock::now();
    while (!role.has_synced()) {
      auto slept = co_await kube::sleep_for(std::chrono::milliseconds(5));
      if (!slept) co_return;
    }
    const auto since = std::chrono::steady_clock::now() - start;
    start_cpu_ms_ = usage().cpu_ms;
    std::cout << "synced " << std::chrono::duration_cast<std::chrono::milliseconds>(since).count()
              << std::endl;
  }

  const Arguments& arguments_;
  Log& log_;
  asio::io_context io_{1};
  SystemClock clock_;
  NoDisks storage_;
  engine::NodeConfig config_;
  Status result_;
  double start_cpu_ms_ = 0;
};

int run(const Arguments& arguments) {
  StderrLog log(LogLevel::kWarning);
  Simulator simulator(arguments, log);
  const Status done = simulator.run();
  if (!done) {
    std::cerr << "node-simulator: " << done.error().message() << '\n';
    return 1;
  }
  const Usage used = usage();
  std::cout << "{\"start_cpu_ms\":" << simulator.start_cpu_ms()
            << ",\"work_cpu_ms\":" << used.cpu_ms - simulator.start_cpu_ms()
            << ",\"rss_kib\":" << used.rss_kib << "}\n";
  return 0;
}

}  // namespace
}  // namespace flexlocal::provisioner

int main(int argc, char** argv) {
  unsigned long long bytes = 0;
  if (argc < 5 || argc > 6 ||
      !flexlocal::parse_number(argv[3], flexlocal::kMostBytes.count(), bytes)) {
    std::cerr << "usage: node-simulator NODE KUBECONFIG POOL_BYTES GRANT_KEY_FILE [NAMESPACE]\n";
    return 1;
  }
  return flexlocal::provisioner::run(
      {argv[1], argv[2], flexlocal::Bytes(bytes), argv[4], argc == 6 ? argv[5] : ""});
}
