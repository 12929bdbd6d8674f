#include "provisioner/daemon/cluster_daemon.h"

#include <unistd.h>

#include <stdexcept>

#include "flexvolume/base/hex.h"
#include "flexvolume/base/random.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "provisioner/controller/cluster_metrics.h"
#include "provisioner/controller/cluster_role.h"
#include "provisioner/daemon/process.h"
#include "provisioner/daemon/process_metrics.h"
#include "provisioner/daemon/status_server.h"
#include "provisioner/kube/boot_clock.h"
#include "provisioner/kube/client_metrics.h"
#include "provisioner/kube/leader_elector.h"

namespace flexlocal::provisioner {
namespace {

constexpr const char* kLeaseName = "flexlocal-cluster";

// The pod's name, for people, and a number that no other process ever had.
std::string make_identity() {
  char host[256] = "unknown";
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  const auto bytes = random_bytes(8);
  if (!bytes) throw std::runtime_error(bytes.error().message());
  return concat(host, '_', to_hex(*bytes));
}

class ClusterDaemon final : public kube::LeaderWork {
 public:
  explicit ClusterDaemon(Process& process) : process_(process), options_(process.options()) {}

  Task<Status> serve(kube::Http& http) {
    process_.log().info("cluster daemon started",
                        {{"version", version()}, {"server", process_.server()}});
    const auto server = open_status_server(process_.io(), process_.log(), options_.http_endpoint,
                                           options_.metrics_path);
    if (!server) co_return server.error();
    kube::LeaderGate gate(http, clock_);
    kube::ApiClient leaders(gate, process_.clock(), api_options(options_));
    api_ = &leaders;
    kube::Metrics metrics;
    show_process(metrics);
    kube::show_requests(metrics, {&leaders});
    show_leader(metrics, [this] { return role_ != nullptr; });
    work_.show_in(metrics);
    if (orders_all_nodes()) work_.volumes.show_in(metrics);
    const ShownPages shown(server->get(), {.ready = [this] { return readiness(); },
                                           .metrics = [&] { return text_of(metrics); }});
    if (options_.leader_election)
      co_await stand_for_election(http, gate);
    else
      co_await lead_alone(gate);
    process_.log().info("cluster daemon stopped");
    co_return Status();
  }

  void stop_serving() {
    if (elector_ != nullptr)
      elector_->stop();
    else
      stop();
  }

  Task<void> lead() override {
    // Another replica led meanwhile.
    if (clock_.now() - put_back_seen_ > kPutBackCounts) put_back_ = false;
    ClusterRole role(process_.io(), *api_, clock_, process_.log(), role_options(), work_,
                     put_back_);
    kube::Metrics term;
    show_cluster(term, role.view(), role.queue());
    role_ = &role;
    term_ = &term;
    co_await role.run();
    term_ = nullptr;
    role_ = nullptr;
  }
  void stop() override {
    if (role_ != nullptr) role_->stop();
  }
  void put_back() override {
    put_back_ = true;
    saw_put_back_ = true;
    put_back_seen_ = clock_.now();
  }

 private:
  // One that does not lead has nothing to be ready for.
  Status readiness() const { return role_ == nullptr ? Status() : role_->readiness(); }

  // What only a leader has to show is left out when there is no term: it is not zero, it is not
  // known.
  std::string text_of(const kube::Metrics& lasting) const {
    return term_ == nullptr ? lasting.text() : lasting.text() + term_->text();
  }

  Task<void> stand_for_election(kube::Http& http, kube::LeaderGate& gate) {
    kube::ElectionOptions election;
    election.identity = make_identity();
    election.lease_duration = options_.lease_duration;
    election.renew_deadline = options_.renew_deadline;
    election.retry_period = options_.retry_period;
    kube::ApiOptions api = api_options(options_);
    api.limit = {};
    api.deadline = std::min<std::chrono::milliseconds>(api.deadline, election.renew_deadline / 2);
    api.longest_pause = election.retry_period;
    kube::ApiClient lease_api(http, process_.clock(), api);
    kube::LeaseClient lease(lease_api, own_namespace(options_), kLeaseName);
    kube::LeaderElector elector(process_.io(), lease, clock_, process_.log(), election, gate,
                                *this);
    elector_ = &elector;
    co_await elector.run();
    elector_ = nullptr;
  }

  Task<void> lead_alone(kube::LeaderGate& gate) {
    gate.open_until(Clock::Instant::max());
    co_await lead();
  }

  bool orders_all_nodes() const { return options_.provisioning == Provisioning::kCentral; }

  ClusterRoleOptions role_options() const {
    ClusterRoleOptions role = controller_options(options_);
    role.label_nodes = options_.label_nodes;
    role.scope = orders_all_nodes() ? Scope::kAllNodes : Scope::kAbsentNodes;
    role.register_driver = options_.register_driver;
    role.node_lost_after = options_.node_lost_after;
    role.node_delete_policy = options_.node_delete_policy;
    role.node_delete_grace = options_.node_delete_grace;
    role.saw_put_back = saw_put_back_;
    return role;
  }

  Process& process_;
  const DaemonOptions& options_;
  kube::BootClock clock_;
  kube::ApiClient* api_ = nullptr;
  kube::LeaderElector* elector_ = nullptr;
  ClusterWork work_;
  ClusterRole* role_ = nullptr;
  bool put_back_ = false;  // the API server, since the last roll call
  Clock::Instant put_back_seen_{};
  bool saw_put_back_ = false;
  const kube::Metrics* term_ = nullptr;  // of this term
};

}  // namespace

Status run_cluster(const DaemonOptions& options) {
  const auto log = make_stderr_log(options.log_format, options.log_level);
  auto cluster = cluster_config(options);
  if (!cluster) return cluster.error();
  Process process(options, std::move(*cluster), *log);
  ClusterDaemon daemon(process);
  return process.run([&](kube::Http& http) { return daemon.serve(http); },
                     [&] { daemon.stop_serving(); });
}

}  // namespace flexlocal::provisioner
