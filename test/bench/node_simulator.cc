// Node daemons without disks, for the bench of the Kubernetes half: the real roles with the real
// client, on a pool that is a number. Each has connections, lists and watches of its own.
//
//   node-simulator NODE[,NODE...] KUBECONFIG POOL_BYTES NAMESPACE LEASE_NAMESPACE orders|off|rank
//
// Each gives its sign of life in the second namespace, a Lease. `orders`: it carries out what a
// leader orders. Else it gives its node's orders itself and tells the scheduler of its room, in the
// first namespace; `rank`: it takes its share of Immediate claims, too.
//
// Prints "synced" and the ms since its start once all first lists are complete, works until
// SIGTERM, and then prints one line of JSON: its CPU time in ms until it had synced and after that,
// and its peak resident memory in KiB. Exit status: 0, or 1 when it could not begin.

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flexvolume/base/text.h"
#include "provisioner/agent/agent_role.h"
#include "provisioner/agent/heartbeat.h"
#include "provisioner/controller/cluster_role.h"
#include "provisioner/kube/curl_http.h"
#include "test/bench/no_disks.h"

namespace flexlocal::provisioner {
namespace {

namespace asio = boost::asio;

engine::NodeConfig one_pool() {
  engine::NodeConfig config;
  config.pools["default"].volume_group = "sim";
  return config;
}

struct Arguments {
  std::vector<std::string> nodes;
  std::string kubeconfig;
  Bytes pool;
  std::string name_space;  // of what is told of room
  std::string lease_namespace;
  std::string way;
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

// One node's daemon. It must outlive its task.
class SimulatedNode {
 public:
  SimulatedNode(const Arguments& arguments, std::string name, const Clock& clock, Log& log)
      : arguments_(arguments),
        name_(std::move(name)),
        clock_(clock),
        log_(log),
        storage_(arguments.pool),
        config_(one_pool()) {}

  Task<Status> serve(asio::io_context& io, kube::Http& http) {
    // The daemon's own limit would be what is measured.
    kube::ApiClient api(http, clock_, {.limit = {0, 1}});
    auto membership = co_await load_membership(api, name_);
    if (!membership) co_return membership.error();
    // A host's id, as an agent draws one.
    const std::string id = digest_of({name_});
    AgentOptions options;
    options.orders_itself = arguments_.way != "orders";
    const AgentNode node{config_, *membership, id};
    AgentRole role(io, api, storage_, node, clock_, log_, options);
    std::optional<ClusterRole> controller;
    if (options.orders_itself)
      controller.emplace(io, api, clock_, log_, role_options(), work_, put_back_, &role.copies());
    synced_ = [&role, &controller] {
      return role.readiness().ok() && (!controller || controller->view().claims.has_synced());
    };
    const HeartbeatOwner owner{name_, membership->node.uid, id};
    auto ended = co_await run_role(io, api, role, controller, owner);
    co_return ended;
  }

  void stop() {
    if (stop_) stop_();
  }
  bool has_synced() const { return synced_ && synced_(); }

 private:
  Task<Status> run_role(asio::io_context& io, kube::ApiClient& api, AgentRole& role,
                        std::optional<ClusterRole>& controller, const HeartbeatOwner& owner) {
    kube::TaskGroup beats(io);
    Heartbeat heartbeat(api, clock_, log_,
                        {.lease_namespace = arguments_.lease_namespace, .owner = owner},
                        [&role] { return role.report(); });
    heartbeat.on_beat([&role](const Status& beaten) { role.heard(beaten); });
    role.on_news([&heartbeat] { heartbeat.beat_soon(); });
    beats.spawn(heartbeat.run());
    kube::TaskGroup controllers(io);
    if (controller) controllers.spawn(controller->run());
    stop_ = [&role, &controller] {
      if (controller) controller->stop();
      role.stop();
    };
    co_await role.run();
    stop_ = nullptr;
    synced_ = nullptr;
    if (controller) controller->stop();
    const Status decided = co_await controllers.join();
    beats.cancel();
    const Status beaten = co_await beats.join();
    co_return decided ? beaten : decided;
  }

  ClusterRoleOptions role_options() const {
    ClusterRoleOptions options;
    options.namespace_name = arguments_.name_space;
    options.lease_namespace = arguments_.lease_namespace;
    options.scope = Scope::kOneNode;
    options.own_node = name_;
    options.daemon_set = "none";
    options.immediate = arguments_.way == "rank" ? ImmediateBinding::kRank : ImmediateBinding::kOff;
    return options;
  }

  const Arguments& arguments_;
  std::string name_;
  const Clock& clock_;
  Log& log_;
  NoDisks storage_;
  engine::NodeConfig config_;
  ClusterWork work_;
  bool put_back_ = false;
  std::function<void()> stop_;    // nothing: no role runs
  std::function<bool()> synced_;  // the same
};

class Simulator {
 public:
  Simulator(const Arguments& arguments, Log& log) : arguments_(arguments), log_(log) {}

  Status run() {
    const auto cluster = kube::load_kubeconfig(arguments_.kubeconfig, "");
    if (!cluster) return cluster.error();
    for (const std::string& name : arguments_.nodes) {
      auto http = kube::CurlHttp::make(io_, clock_, log_, *cluster);
      if (!http) return http.error();
      https_.push_back(std::move(*http));
      nodes_.push_back(std::make_unique<SimulatedNode>(arguments_, name, clock_, log_));
    }
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) stop();
    });
    kube::TaskGroup tasks(io_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) tasks.spawn(serve(i));
    announcement_.spawn(announce());
    io_.run();
    return result_;
  }

  double start_cpu_ms() const { return start_cpu_ms_; }

 private:
  Task<void> serve(std::size_t index) {
    const Status served = co_await nodes_[index]->serve(io_, *https_[index]);
    if (!served) {
      result_ = served;
      stop();
    }
    if (++ended_ == nodes_.size()) signals_.cancel();
  }

  void stop() {
    announcement_.cancel();
    for (const auto& node : nodes_) node->stop();
  }

  Task<void> announce() {
    const auto start = std::chrono::steady_clock::now();
    while (!std::all_of(nodes_.begin(), nodes_.end(),
                        [](const auto& node) { return node->has_synced(); })) {
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
  asio::signal_set signals_{io_, SIGTERM};
  SystemClock clock_;
  std::vector<std::unique_ptr<kube::CurlHttp>> https_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
  kube::TaskGroup announcement_{io_};
  std::size_t ended_ = 0;
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
  const std::string way = argc > 6 ? argv[6] : "";
  if (argc != 7 || (way != "orders" && way != "off" && way != "rank") ||
      !flexlocal::parse_number(argv[3], flexlocal::kMostBytes.count(), bytes)) {
    std::cerr << "usage: node-simulator NODE[,NODE...] KUBECONFIG POOL_BYTES "
                 "NAMESPACE LEASE_NAMESPACE orders|off|rank\n";
    return 1;
  }
  const auto nodes = flexlocal::split(argv[1], ',');
  return flexlocal::provisioner::run(
      {{nodes.begin(), nodes.end()}, argv[2], flexlocal::Bytes(bytes), argv[4], argv[5], way});
}
