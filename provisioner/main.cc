// flexlocal-provisioner: the daemon that makes PersistentVolumes for claims and takes them back.

#include <iostream>

#include "flexvolume/base/program.h"
#include "provisioner/daemon.h"
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
  const auto ran = provisioner::run_node(std::get<provisioner::DaemonOptions>(*options));
  if (ran) return 0;
  std::cerr << "flexlocal-provisioner: " << ran.error().message() << '\n';
  return 1;
}
