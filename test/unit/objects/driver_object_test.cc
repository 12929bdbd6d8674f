#include "provisioner/objects/driver_object.h"

#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include "flexvolume/base/text.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

std::string differs(const std::string& driver) {
  return decode_driver(JsonDocument::parse(driver)->root()).differs;
}

}  // namespace

TEST_CASE(
    "the CSIDriver that is made is as it should be, and a field that is unknown is not missed") {
  const std::string made = driver_json();
  CHECK(differs(made).empty());
  CHECK(differs(with(made, R"(,"fsGroupPolicy":"File")", "")).empty());
}

TEST_CASE("another CSIDriver is told from ours, field by field") {
  const std::string made = driver_json();
  CHECK(differs(with(made, R"("storageCapacity":true)", R"("storageCapacity":false)")) ==
        "storageCapacity is not true");
  CHECK(differs(with(made, R"("attachRequired":false,"podInfoOnMount":true,)", "")) ==
        "attachRequired is not false, podInfoOnMount is not true");
  CHECK(differs(with(made, R"(["Persistent"])", R"(["Persistent","Ephemeral"])")) ==
        "volumeLifecycleModes is [Persistent, Ephemeral]");
  CHECK(differs(with(made, R"("File")", R"("None")")) == "fsGroupPolicy is None");
  const auto preventing = [&](const std::string& value) {
    const std::string field = R"("spec":{"preventPodSchedulingIfMissing":)";
    return differs(with(made, R"("spec":{)", concat(field, value, ',')));
  };
  CHECK(preventing("true") == "preventPodSchedulingIfMissing is not false");
  CHECK(preventing("false").empty());
  CHECK(preventing("null").empty());
}

TEST_CASE("the CSIDriver that is shipped for administrators is the one that is made") {
  const YAML::Node shipped = YAML::LoadFile("examples/install/csidriver.yaml");
  const auto made = JsonDocument::parse(driver_json());
  CHECK(shipped["apiVersion"].as<std::string>() == made->root()["apiVersion"].text());
  CHECK(shipped["kind"].as<std::string>() == made->root()["kind"].text());
  CHECK(shipped["metadata"]["name"].as<std::string>() == made->root()["metadata"]["name"].text());
  const JsonView spec = made->root()["spec"];
  for (const std::string field : {"attachRequired", "podInfoOnMount", "storageCapacity"})
    CHECK(shipped["spec"][field].as<bool>() == spec[field].boolean());
  CHECK(shipped["spec"]["volumeLifecycleModes"].size() == 1);
  CHECK(shipped["spec"]["volumeLifecycleModes"][0].as<std::string>() == "Persistent");
  CHECK(shipped["spec"]["fsGroupPolicy"].as<std::string>() == spec["fsGroupPolicy"].text());
}

}  // namespace flexlocal::provisioner::test
