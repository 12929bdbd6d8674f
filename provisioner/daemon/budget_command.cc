#include "provisioner/daemon/budget_command.h"

#include <ostream>

#include "provisioner/daemon/budget_table.h"
#include "provisioner/daemon/process.h"
#include "provisioner/kube/complete_list.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

using kube::Task;

Task<Status> show(Process& process, kube::Http& http, std::ostream& out) {
  kube::ApiClient api(http, process.clock(), api_options(process.options()));
  const std::string path = heartbeats_path(process.options().lease_namespace);
  std::vector<NodeHeartbeat> beats;
  const Visit visit = [&](JsonView lease) -> Status {
    if (auto beat = decode_heartbeat(lease)) beats.push_back(std::move(*beat));
    return {};
  };
  const kube::Query everything;
  const auto visited = co_await visit_all(api, path, everything, visit);
  if (!visited) co_return visited.error().context("reading the nodes' Leases");
  out << budget_table(beats, process.clock().wall()) << std::flush;
  co_return Status();
}

}  // namespace

Status run_budget(const DaemonOptions& options, std::ostream& out) {
  const auto log = make_stderr_log(options.log_format, options.log_level);
  auto cluster = cluster_config(options);
  if (!cluster) return cluster.error();
  Process process(options, std::move(*cluster), *log);
  return process.run([&](kube::Http& http) { return show(process, http, out); },
                     [&] { process.cancel(); });
}

}  // namespace flexlocal::provisioner
