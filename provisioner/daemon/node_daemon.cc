#include "provisioner/daemon/node_daemon.h"

#include <boost/asio/this_coro.hpp>

#include "flexvolume/base/program.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "flexvolume/engine/host/kernel_mounter.h"
#include "provisioner/agent/agent_role.h"
#include "provisioner/agent/heartbeat.h"
#include "provisioner/agent/host_id.h"
#include "provisioner/daemon/node_controller.h"
#include "provisioner/daemon/process.h"
#include "provisioner/daemon/process_metrics.h"
#include "provisioner/daemon/put_back_mark.h"
#include "provisioner/daemon/status_server.h"

namespace flexlocal::provisioner {
namespace {

// A DaemonSet's update starts the next daemon when the last one has ended, as a rule.
constexpr auto kEndOfLastDaemon = std::chrono::seconds(5);

// One for each worker of the agent, and one for its looks at the disks.
std::size_t storage_threads(const DaemonOptions& options) {
  return options.worker_threads + kKeptForOrders + 1;
}

// Everything that lives as long as the daemon, in the order in which it is needed.
class NodeDaemon {
 public:
  NodeDaemon(Process& process, engine::NodeConfig config)
      : process_(process),
        options_(process.options()),
        config_(std::move(config)),
        runner_(options_.host_proc),
        devices_(host_root()),
        mounter_(options_.host_proc.empty() ? "/proc/self/mountinfo"
                                            : options_.host_proc + "/mountinfo"),
        engine_(host(), config_),
        storage_(process.io(), engine_, storage_threads(options_), host_root()),
        put_back_(options_.lock_dir) {}

  Task<Status> serve(kube::Http& http) {
    const auto server = open_status_server(process_.io(), process_.log(), options_.http_endpoint,
                                           options_.metrics_path);
    if (!server) co_return server.error();
    kube::ApiClient api(http, process_.clock(), api_options(options_));
    auto membership = co_await await_membership(api, options_.node_name, process_.log());
    if (!membership) co_return membership.error().context(concat("API server ", process_.server()));
    if (auto joined = engine_.join_cluster(membership->cluster_id); !joined)
      co_return joined.error().context("recording which cluster this node is of");
    process_.log().info("node daemon started", {{"node", options_.node_name},
                                                {"version", version()},
                                                {"server", process_.server()},
                                                {"cluster", membership->cluster_id}});
    Status ended;
    ended = co_await work(http, api, server->get(), *membership);
    process_.log().info("node daemon stopped");
    co_return ended;
  }

  void stop() {
    if (stop_role_)
      stop_role_();
    else
      process_.cancel();
  }

 private:
  // Carries out what is ordered of this node; and gives the orders, where each node's daemon does.
  Task<Status> work(kube::Http& http, kube::ApiClient& api, StatusServer* server,
                    const Membership& membership) {
    const auto lock = lock_host(options_.lock_dir, kEndOfLastDaemon);
    if (!lock) co_return lock.error();
    auto id = host_id(options_.state_dir);
    if (!id) co_return id.error();
    const auto holder = running_host(*id);
    if (!holder) co_return holder.error();
    const AgentNode node{config_, membership, std::move(*id)};
    AgentRole role(process_.io(), api, storage_, node, process_.clock(), process_.log(),
                   agent_options());
    std::optional<NodeController> controller;
    if (orders_itself()) {
      controller.emplace(process_, http, role.copies(), put_back_.is_recent());
      role.confirm_by([&controller](const VolumeCopy& copy) { return controller->confirm(copy); });
    }
    kube::Metrics metrics;
    show(metrics, role, controller);
    const auto readiness = [&role, &controller] {
      auto ready = role.readiness();
      return ready && controller ? controller->readiness() : ready;
    };
    const ShownPages shown(server,
                           {.ready = readiness, .metrics = [&metrics] { return metrics.text(); }});
    const HeartbeatOwner owner{membership.node.name, membership.node.uid, *holder};
    auto ended = co_await run_role(http, role, controller, owner);
    co_return ended;
  }

  void show(kube::Metrics& metrics, AgentRole& role,
            const std::optional<NodeController>& controller) const {
    show_process(metrics);
    role.show_in(metrics, counters());
    kube::ClientView client = role.client();
    if (controller) controller->show_in(metrics);
    if (controller) controller->add_to(client);
    kube::show_client(metrics, client);
  }

  // Until it is told to stop, with a heartbeat beside it.
  Task<Status> run_role(kube::Http& http, AgentRole& role,
                        std::optional<NodeController>& controller, const HeartbeatOwner& owner) {
    // Not behind the role's requests: they may have to wait for --kube-api-qps, and whoever gives
    // no sign of life is taken for dead.
    kube::ApiClient heartbeat_api(http, process_.clock(), heartbeat_api_options());
    Heartbeat heartbeat(heartbeat_api, process_.clock(), process_.log(), heartbeat_options(owner),
                        [&role] { return role.report(); });
    heartbeat.on_beat([&role, &controller](const Status& beaten) {
      role.heard(beaten);
      if (controller) controller->heard(beaten);
    });
    role.on_news([&heartbeat] { heartbeat.beat_soon(); });
    const auto stop = [&role, &controller] {
      if (controller) controller->stop();
      role.stop();
    };
    // A watch goes on in silence from a version that is not there yet, and misses what comes
    // before.
    Status worked;
    heartbeat.on_put_back([this, stop, &worked] {
      put_back_.note(process_.log());
      worked = Error(ErrorCode::kUnavailable,
                     "the API server was put back to an earlier state: this daemon ends, so that "
                     "it is started anew and reads what is there now");
      stop();
    });
    kube::TaskGroup beats(process_.io());
    beats.spawn(heartbeat.run());
    kube::TaskGroup controllers(process_.io());
    if (controller) controllers.spawn(controller->run());
    stop_role_ = stop;
    co_await role.run();
    stop_role_ = nullptr;
    // From here on this task cannot be told to stop: what it has started refers to it.
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
    if (controller) controller->stop();
    const Status decided = co_await controllers.join();
    beats.cancel();
    const Status beaten = co_await beats.join();
    if (!worked) co_return worked;
    co_return decided ? beaten : decided;
  }

  bool orders_itself() const { return options_.provisioning == Provisioning::kDistributed; }

  AgentOptions agent_options() const {
    AgentOptions agent;
    agent.workers = options_.worker_threads;
    agent.retry = {options_.retry_interval_start, options_.retry_interval_max};
    agent.ram_fraction = options_.ram_fraction;
    agent.disk_per_ram = options_.disk_per_ram;
    agent.orders_itself = orders_itself();
    // Nobody gives it to another node where each gives its own orders.
    agent.gives_up = options_.give_up_promises && !orders_itself();
    // Whoever gives orders goes by what there is.
    if (orders_itself()) agent.reflect.first = kube::FirstList::kConsistent;
    return agent;
  }

  // The host's file tree, as its first process sees it: what tools and devices are looked for
  // under.
  std::string host_root() const {
    return options_.host_proc.empty() ? std::string() : options_.host_proc + "/root";
  }

  std::string counters() const { return options_.state_dir + "/counters"; }

  engine::Host host() {
    const std::string root = host_root();
    return {runner_,
            devices_,
            mounter_,
            process_.log(),
            options_.state_dir + "/volumes",
            options_.lock_dir,
            root,
            counters(),
            options_.state_dir + "/groups"};
  }

  kube::ApiOptions heartbeat_api_options() const {
    kube::ApiOptions api = api_options(options_);
    api.limit = {};
    // A beat that fails is tried again before the next is due.
    constexpr std::chrono::milliseconds kLongest = kHeartbeatInterval / 2;
    api.deadline = std::min(api.deadline, kLongest);
    api.longest_pause = kLongest;
    return api;
  }

  HeartbeatOptions heartbeat_options(const HeartbeatOwner& owner) const {
    HeartbeatOptions beat;
    beat.lease_namespace = options_.lease_namespace;
    beat.owner = owner;
    beat.gives_way = true;
    return beat;
  }

  Process& process_;
  const DaemonOptions& options_;
  engine::NodeConfig config_;
  ProcessRunner runner_;
  engine::KernelDevices devices_;
  engine::KernelMounter mounter_;
  engine::Engine engine_;
  EngineStorage storage_;
  PutBackMark put_back_;
  std::function<void()> stop_role_;  // nothing: none is running
};

}  // namespace

Status run_node(const DaemonOptions& options) {
  const auto log = make_stderr_log(options.log_format, options.log_level);
  auto config = engine::load_node_config(options.node_config);
  if (!config) return config.error();
  auto cluster = cluster_config(options);
  if (!cluster) return cluster.error();
  Process process(options, std::move(*cluster), *log);
  NodeDaemon daemon(process, std::move(*config));
  return process.run([&](kube::Http& http) { return daemon.serve(http); }, [&] { daemon.stop(); });
}

}  // namespace flexlocal::provisioner
