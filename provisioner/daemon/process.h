// What both roles of the daemon begin with: the API server, the event loop, the signals that end
// it.
#pragma once

#include <functional>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/controller/view/cluster_options.h"
#include "provisioner/daemon/options.h"
#include "provisioner/kube/api.h"
#include "provisioner/kube/curl_http.h"
#include "provisioner/kube/task_group.h"

namespace flexlocal::provisioner {

// Where the API server is: by the kubeconfig, or as a pod finds it in itself.
Result<kube::ClusterConfig> cluster_config(const DaemonOptions& options);

// The limits that the flags set for one client.
kube::ApiOptions api_options(const DaemonOptions& options);

// The namespace of the installation: --namespace, else the pod's own (POD_NAMESPACE), else
// flexlocal-system.
std::string own_namespace(const DaemonOptions& options);

// What flags say of a controller, whichever daemon runs it; its scope is the daemon's to set.
ClusterRoleOptions controller_options(const DaemonOptions& options);

// The event loop with a connection to the API server. One process has one.
class Process {
 public:
  Process(const DaemonOptions& options, kube::ClusterConfig cluster, Log& log)
      : options_(options), cluster_(std::move(cluster)), log_(log) {}

  kube::asio::io_context& io() { return io_; }
  const Clock& clock() const { return clock_; }
  Log& log() { return log_; }
  const DaemonOptions& options() const { return options_; }
  const std::string& server() const { return cluster_.server; }

  // Runs what `serve` gives until it has ended. SIGTERM and SIGINT call `stop`, once.
  using Serve = std::function<kube::Task<Status>(kube::Http& http)>;
  Status run(const Serve& serve, const std::function<void()>& stop);

  // Tells the served task to stop at its next wait, for when there is no gentler way.
  void cancel();

 private:
  kube::Task<void> serve_to_the_end(kube::Task<Status> task, const std::function<void()>& ended);

  const DaemonOptions& options_;
  kube::ClusterConfig cluster_;
  Log& log_;
  kube::asio::io_context io_{1};
  SystemClock clock_;
  kube::TaskGroup* tasks_ = nullptr;
  Status result_;
};

}  // namespace flexlocal::provisioner
