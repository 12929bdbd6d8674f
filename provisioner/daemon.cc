#include "provisioner/daemon.h"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "flexvolume/base/program.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "flexvolume/engine/kernel_mounter.h"
#include "provisioner/kube/config.h"
#include "provisioner/kube/curl_http.h"
#include "provisioner/node_metrics.h"
#include "provisioner/node_role.h"
#include "provisioner/process_metrics.h"
#include "provisioner/status_server.h"

namespace flexlocal::provisioner {
namespace {

namespace asio = boost::asio;
using kube::Task;

constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

Result<kube::ClusterConfig> cluster_config(const DaemonOptions& options) {
  if (!options.kubeconfig.empty())
    return kube::load_kubeconfig(options.kubeconfig, options.context);
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr)
    return Error(ErrorCode::kInvalid,
                 "this is no pod (KUBERNETES_SERVICE_HOST is not set): name a --kubeconfig");
  return kube::in_cluster_config(kServiceAccount, host, port);
}

// Everything that lives as long as the daemon, in the order in which it is needed.
class Daemon {
 public:
  Daemon(const DaemonOptions& options, engine::NodeConfig config,
         const kube::ClusterConfig& cluster, Log& log)
      : options_(options),
        cluster_(cluster),
        log_(log),
        config_(std::move(config)),
        runner_(options.host_proc),
        devices_(host_root(options)),
        mounter_(options.host_proc.empty() ? "/proc/self/mountinfo"
                                           : options.host_proc + "/mountinfo"),
        engine_(host(), config_),
        storage_(io_, engine_, options.worker_threads + 1) {}

  Status run() {
    auto http = kube::CurlHttp::make(io_, clock_, log_, cluster_);
    if (!http) return http.error();
    kube::ApiClient api(**http, clock_, api_options());
    asio::signal_set signals(io_, SIGTERM, SIGINT);
    signals.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) stop();
    });
    kube::TaskGroup tasks(io_);
    tasks.spawn(serve(api, signals));
    tasks_ = &tasks;
    io_.run();
    return result_;
  }

 private:
  // The host's file tree, as its first process sees it: what tools and devices are looked for
  // under.
  static std::string host_root(const DaemonOptions& options) {
    return options.host_proc.empty() ? std::string() : options.host_proc + "/root";
  }

  engine::Host host() {
    const std::string root = host_root(options_);
    return {runner_,
            devices_,
            mounter_,
            log_,
            options_.state_dir + "/volumes",
            options_.lock_dir,
            options_.host_grant_key,
            root,
            options_.state_dir + "/counters"};
  }

  kube::ApiOptions api_options() const {
    kube::ApiOptions api;
    api.limit = {options_.kube_api_qps, options_.kube_api_burst};
    api.deadline = options_.timeout;
    return api;
  }

  Task<void> serve(kube::ApiClient& api, asio::signal_set& signals) {
    auto server = open_status_server(io_, log_, options_.http_endpoint, options_.metrics_path);
    if (!server) {
      result_ = server.error();
      signals.cancel();
      co_return;
    }
    auto membership = co_await load_membership(api, options_.node_name);
    if (!membership) {
      // Told to stop before it began: that is no failure.
      if (membership.error().code() != ErrorCode::kCancelled)
        result_ = membership.error().context(concat("API server ", cluster_.server));
      signals.cancel();
      co_return;
    }
    log_.info("node daemon started", {{"node", options_.node_name},
                                      {"version", version()},
                                      {"server", cluster_.server},
                                      {"cluster", membership->cluster_id}});
    NodeRoleOptions role_options;
    role_options.workers = options_.worker_threads;
    role_options.retry = {options_.retry_interval_start, options_.retry_interval_max};
    role_options.grants = {options_.grant_key, options_.host_grant_key};
    NodeRole role(io_, api, storage_, config_, clock_, log_, *membership, role_options);
    role_ = &role;
    kube::Metrics metrics;
    show_process(metrics);
    show_node(metrics, role.parts(), role.queue(), config_, options_.state_dir + "/counters");
    const ShownPages shown(server->get(),
                           {.ready = [&role] { return node_readiness(role.parts()); },
                            .metrics = [&metrics] { return metrics.text(); }});
    co_await role.run();
    role_ = nullptr;
    signals.cancel();
    log_.info("node daemon stopped");
  }

  void stop() {
    if (role_ != nullptr)
      role_->stop();
    else
      tasks_->cancel();
  }

  const DaemonOptions& options_;
  const kube::ClusterConfig& cluster_;
  Log& log_;
  asio::io_context io_{1};
  SystemClock clock_;
  engine::NodeConfig config_;
  ProcessRunner runner_;
  engine::KernelDevices devices_;
  engine::KernelMounter mounter_;
  engine::Engine engine_;
  EngineStorage storage_;
  kube::TaskGroup* tasks_ = nullptr;
  NodeRole* role_ = nullptr;
  Status result_;
};

}  // namespace

Status run_node(const DaemonOptions& options) {
  const auto log = make_stderr_log(options.log_format, options.log_level);
  auto config = engine::load_node_config(options.node_config);
  if (!config) return config.error();
  const auto cluster = cluster_config(options);
  if (!cluster) return cluster.error();
  Daemon daemon(options, std::move(*config), *cluster, *log);
  return daemon.run();
}

}  // namespace flexlocal::provisioner
