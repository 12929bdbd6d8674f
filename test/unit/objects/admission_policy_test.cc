// The shipped admission policy spells out names that the daemon builds elsewhere. A name that is
// changed in one place only would make the policy refuse every volume, or guard none.
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>

#include "flexvolume/base/text.h"
#include "provisioner/objects/heartbeat_record.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kFolder = "examples/install-distributed/";

// The policies by name, each with all its expressions one after the other.
std::map<std::string, std::string> expressions() {
  std::map<std::string, std::string> texts;
  for (const YAML::Node& document : YAML::LoadAllFromFile(kFolder + "admission-policy.yaml")) {
    if (document["kind"].as<std::string>() != "ValidatingAdmissionPolicy") continue;
    std::string& text = texts[document["metadata"]["name"].as<std::string>()];
    const YAML::Node& spec = document["spec"];
    for (const std::string part : {"matchConditions", "variables", "validations"})
      for (const YAML::Node& entry : spec[part])
        text += entry["expression"].as<std::string>() + '\n';
  }
  return texts;
}

bool names(const std::string& text, std::string_view what) {
  return text.find(concat('\'', what, '\'')) != std::string::npos;
}

// As the API server calls it.
std::string node_daemon() {
  for (const YAML::Node& document : YAML::LoadAllFromFile("examples/install/core/rbac.yaml"))
    if (const YAML::Node& meta = document["metadata"];
        document["kind"].as<std::string>() == "ServiceAccount" &&
        meta["name"].as<std::string>() == "flexlocal-node")
      return concat("system:serviceaccount:", meta["namespace"].as<std::string>(), ':',
                    meta["name"].as<std::string>());
  return "";
}

}  // namespace

TEST_CASE("the admission policy knows volumes and Leases by the names that the daemon writes") {
  const auto policies = expressions();
  REQUIRE(policies.contains("flexlocal-node-volumes"));
  REQUIRE(policies.contains("flexlocal-node-leases"));
  const std::string& volumes = policies.at("flexlocal-node-volumes");
  for (const std::string_view name :
       {kNodeLabel, kHostnameLabel, kProvisionedBy, engine::kDriver, engine::kProvisioner})
    CHECK_MESSAGE(names(volumes, name), name);
  CHECK(names(policies.at("flexlocal-node-leases"), heartbeat_name("")));
  REQUIRE(policies.contains("flexlocal-node-capacities"));
  for (const std::string_view name : {kNodeLabel, kHostnameLabel})
    CHECK_MESSAGE(names(policies.at("flexlocal-node-capacities"), name), name);
}

TEST_CASE("the admission policy is about the node daemon's account, and denies") {
  for (const auto& expression : expressions())
    CHECK_MESSAGE(names(expression.second, node_daemon()), expression.first);
  std::size_t denying = 0;
  for (const YAML::Node& document : YAML::LoadAllFromFile(kFolder + "admission-policy.yaml")) {
    const YAML::Node& spec = document["spec"];
    if (document["kind"].as<std::string>() == "ValidatingAdmissionPolicy") {
      CHECK(spec["failurePolicy"].as<std::string>() == "Fail");
      continue;
    }
    CHECK(expressions().contains(spec["policyName"].as<std::string>()));
    CHECK(spec["validationActions"][0].as<std::string>() == "Deny");
    ++denying;
  }
  CHECK(denying == expressions().size());
}

}  // namespace flexlocal::provisioner::test
