#include "provisioner/daemon/process.h"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>

namespace flexlocal::provisioner {
namespace {

constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr const char* kDefaultNamespace = "flexlocal-system";

}  // namespace

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

kube::ApiOptions api_options(const DaemonOptions& options) {
  kube::ApiOptions api;
  api.limit.burst = options.kube_api_burst;
  api.only_without_flows = !options.kube_api_qps;
  if (options.kube_api_qps) api.limit.per_second = *options.kube_api_qps;
  api.deadline = options.timeout;
  return api;
}

std::string own_namespace(const DaemonOptions& options) {
  if (!options.namespace_name.empty()) return options.namespace_name;
  const char* pods = std::getenv("POD_NAMESPACE");
  return pods != nullptr && *pods != '\0' ? pods : kDefaultNamespace;
}

ClusterRoleOptions controller_options(const DaemonOptions& options) {
  ClusterRoleOptions role;
  role.namespace_name = own_namespace(options);
  role.lease_namespace = options.lease_namespace;
  role.workers = options.worker_threads;
  role.retry = {options.retry_interval_start, options.retry_interval_max};
  role.immediate = options.immediate;
  role.tells_room = options.enable_capacity;
  role.daemon_set = options.daemon_set;
  role.registry_interval = options.capacity_poll_interval;
  role.orphan_policy = options.orphan_policy;
  role.orphan_grace = options.orphan_grace;
  return role;
}

Status Process::run(const Serve& serve, const std::function<void()>& stop) {
  auto http = kube::CurlHttp::make(io_, clock_, log_, cluster_);
  if (!http) return http.error();
  boost::asio::signal_set signals(io_, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) stop();
  });
  const std::function<void()> ended = [&signals] { signals.cancel(); };
  kube::TaskGroup tasks(io_);
  tasks_ = &tasks;
  tasks.spawn(serve_to_the_end(serve(**http), ended));
  io_.run();
  tasks_ = nullptr;
  return result_;
}

void Process::cancel() {
  if (tasks_ != nullptr) tasks_->cancel();
}

kube::Task<void> Process::serve_to_the_end(kube::Task<Status> task,
                                           const std::function<void()>& ended) {
  result_ = co_await std::move(task);
  // Told to stop before it began: that is no failure.
  if (!result_ && result_.error().code() == ErrorCode::kCancelled) result_ = Status();
  ended();
}

}  // namespace flexlocal::provisioner
