// flexlocal-provisioner: the daemon that makes PersistentVolumes for claims and takes them back,
// and the one that looks after what no single node can.

#include <iostream>

#include "flexvolume/base/program.h"
#include "provisioner/cluster_daemon.h"
#include "provisioner/node_daemon.h"
#include "provisioner/options.h"

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
  const auto& daemon = std::get<provisioner::DaemonOptions>(*options);
  const auto ran = daemon.role == provisioner::Role::kCluster ? provisioner::run_cluster(daemon)
                                                              : provisioner::run_node(daemon);
  if (ran) return 0;
  std::cerr << "flexlocal-provisioner: " << ran.error().message() << '\n';
  return 1;
}
