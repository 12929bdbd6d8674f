// What the shipped DaemonSet must say for the daemon to see what is on its host.
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <string>

namespace flexlocal::provisioner::test {

// Without it a state folder that is mounted while the daemon runs, as a disk of its own, is there
// for the plugin and an empty one for the daemon.
TEST_CASE("the daemon sees what is mounted on its host's folders of state and locks later") {
  std::map<std::string, std::string> propagation;
  for (const YAML::Node& document : YAML::LoadAllFromFile("examples/install/core/daemonset.yaml")) {
    if (document["kind"].as<std::string>() != "DaemonSet") continue;
    for (const YAML::Node& container : document["spec"]["template"]["spec"]["containers"])
      for (const YAML::Node& mount : container["volumeMounts"])
        propagation[mount["mountPath"].as<std::string>()] =
            mount["mountPropagation"] ? mount["mountPropagation"].as<std::string>() : "None";
  }
  CHECK(propagation["/var/lib/flexlocal"] == "HostToContainer");
  CHECK(propagation["/run/flexlocal"] == "HostToContainer");
}

}  // namespace flexlocal::provisioner::test
