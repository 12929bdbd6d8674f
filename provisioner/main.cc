// flexlocal-provisioner: the daemon that makes PersistentVolumes for claims and takes them back,
// and the one that looks after what no single node can.

#include <iostream>

#include "flexvolume/base/program.h"
#include "provisioner/daemon/budget_command.h"
#include "provisioner/daemon/cluster_daemon.h"
#include "provisioner/daemon/command_line.h"
#include "provisioner/daemon/node_daemon.h"

namespace {

flexlocal::Status run(const flexlocal::provisioner::DaemonOptions& options) {
  using flexlocal::provisioner::Role;
  switch (options.role) {
    case Role::kCluster:
      return flexlocal::provisioner::run_cluster(options);
    case Role::kBudget:
      return flexlocal::provisioner::run_budget(options, std::cout);
    case Role::kNode:
      break;
  }
  return flexlocal::provisioner::run_node(options);
}

}  // namespace

int main(int count, char** values) {
  namespace provisioner = flexlocal::provisioner;
  const auto options = provisioner::parse_options(
      std::vector<std::string>(values + (count > 0 ? 1 : 0), values + count));
  if (!options) {
    std::cerr << "flexlocal-provisioner: " << options.error().message() << '\n';
    return 2;
  }
  if (const auto* say = std::get_if<provisioner::Say>(&*options)) {
    std::cout << say->text;
    return 0;
  }
  flexlocal::mark_inherited_close_on_exec();
  const auto ran = run(std::get<provisioner::DaemonOptions>(*options));
  if (ran) return 0;
  std::cerr << "flexlocal-provisioner: " << ran.error().message() << '\n';
  return 1;
}
