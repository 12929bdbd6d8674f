#include "provisioner/daemon/node_daemon.h"

#include "flexvolume/base/program.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "flexvolume/engine/host/kernel_mounter.h"
#include "provisioner/agent/agent_role.h"
#include "provisioner/agent/heartbeat.h"
#include "provisioner/agent/host_id.h"
#include "provisioner/agent/node_metrics.h"
#include "provisioner/agent/node_role.h"
#include "provisioner/daemon/process.h"
#include "provisioner/daemon/process_metrics.h"
#include "provisioner/daemon/status_server.h"

namespace flexlocal::provisioner {
namespace {

// A DaemonSet's update starts the next daemon when the last one has ended, as a rule.
constexpr auto kEndOfLastDaemon = std::chrono::seconds(5);

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
        storage_(process.io(), engine_, options_.worker_threads + 1) {}

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
    if (options_.provisioning == Provisioning::kCentral)
      ended = co_await follow_orders(http, api, server->get(), *membership);
    else
      ended = co_await decide(http, api, server->get(), *membership);
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
  // Decides and carries out, for the claims of this node.
  Task<Status> decide(kube::Http& http, kube::ApiClient& api, StatusServer* server,
                      const Membership& membership) {
    NodeRole role(process_.io(), api, storage_, config_, process_.clock(), process_.log(),
                  membership, role_options());
    kube::Metrics metrics;
    show_process(metrics);
    show_node(metrics, role.parts(), role.queue(), config_, counters());
    const ShownPages shown(server, {.ready = [&role] { return node_readiness(role.parts()); },
                                    .metrics = [&metrics] { return metrics.text(); }});
    const HeartbeatOwner owner{membership.node.name, membership.node.uid, membership.node.name};
    auto ended = co_await run_role(http, role, owner);
    co_return ended;
  }

  // Carries out what the cluster daemon's controller ordered.
  Task<Status> follow_orders(kube::Http& http, kube::ApiClient& api, StatusServer* server,
                             const Membership& membership) {
    const auto lock = lock_host(options_.lock_dir, kEndOfLastDaemon);
    if (!lock) co_return lock.error();
    auto id = host_id(options_.state_dir);
    if (!id) co_return id.error();
    const auto holder = running_host(*id);
    if (!holder) co_return holder.error();
    AgentRole role(process_.io(), api, storage_, config_, process_.clock(), process_.log(),
                   membership, std::move(*id), agent_options());
    kube::Metrics metrics;
    show_process(metrics);
    role.show_in(metrics, counters());
    const ShownPages shown(server, {.ready = [&role] { return role.readiness(); },
                                    .metrics = [&metrics] { return metrics.text(); }});
    const HeartbeatOwner owner{membership.node.name, membership.node.uid, *holder};
    auto ended = co_await run_role(http, role, owner);
    co_return ended;
  }

  // Until it is told to stop, with a heartbeat beside it.
  template <typename Role>
  Task<Status> run_role(kube::Http& http, Role& role, const HeartbeatOwner& owner) {
    // Not behind the role's requests: they may have to wait for --kube-api-qps, and whoever gives
    // no sign of life is taken for dead.
    kube::ApiClient heartbeat_api(http, process_.clock(), heartbeat_api_options());
    Heartbeat heartbeat(heartbeat_api, process_.clock(), process_.log(), heartbeat_options(owner),
                        [&role] { return role.report(); });
    if constexpr (std::is_same_v<Role, AgentRole>) {
      heartbeat.on_beat([&role](const Status& beaten) { role.heard(beaten); });
      role.on_news([&heartbeat] { heartbeat.beat_soon(); });
    }
    // A watch goes on in silence from a version that is not there yet, and misses what comes
    // before.
    Status worked;
    heartbeat.on_put_back([&role, &worked] {
      worked = Error(ErrorCode::kUnavailable,
                     "the API server was put back to an earlier state: this daemon ends, so that "
                     "it is started anew and reads what is there now");
      role.stop();
    });
    kube::TaskGroup beats(process_.io());
    beats.spawn(heartbeat.run());
    stop_role_ = [&role] { role.stop(); };
    co_await role.run();
    stop_role_ = nullptr;
    beats.cancel();
    auto ended = co_await beats.join();
    co_return worked ? ended : worked;
  }

  AgentOptions agent_options() const {
    AgentOptions agent;
    agent.workers = options_.worker_threads;
    agent.retry = {options_.retry_interval_start, options_.retry_interval_max};
    agent.ram_fraction = options_.ram_fraction;
    agent.disk_per_ram = options_.disk_per_ram;
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

  NodeRoleOptions role_options() const {
    NodeRoleOptions role;
    role.workers = options_.worker_threads;
    role.retry = {options_.retry_interval_start, options_.retry_interval_max};
    role.orphan_grace = std::chrono::ceil<std::chrono::seconds>(options_.orphan_grace);
    role.orphan_policy = options_.orphan_policy;
    role.ram_fraction = options_.ram_fraction;
    role.disk_per_ram = options_.disk_per_ram;
    role.immediate = options_.immediate;
    role.capacity.enabled = options_.enable_capacity;
    role.capacity.namespace_name = own_namespace(options_);
    role.capacity.daemon_set = options_.daemon_set;
    role.capacity.poll_interval = options_.capacity_poll_interval;
    return role;
  }

  kube::ApiOptions heartbeat_api_options() const {
    kube::ApiOptions api = api_options(options_);
    api.limit = {};
    api.deadline = std::min<std::chrono::milliseconds>(api.deadline, kHeartbeatInterval);
    api.longest_pause = kHeartbeatInterval;
    return api;
  }

  HeartbeatOptions heartbeat_options(const HeartbeatOwner& owner) const {
    HeartbeatOptions beat;
    beat.namespace_name = own_namespace(options_);
    beat.owner = owner;
    // Who decides for the Node itself has nobody who could be told to hold still.
    beat.gives_way = options_.provisioning == Provisioning::kCentral;
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
