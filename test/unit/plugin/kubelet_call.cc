#include "test/unit/plugin/kubelet_call.h"

#include <doctest/doctest.h>

#include "flexvolume/base/json.h"

namespace flexlocal::plugin {

std::string options_json(const engine::Options& changes) {
  const engine::VolumeSpec spec = engine::example_spec();
  engine::Options options = {{std::string(engine::kCopyOption), spec.copy}};
  options["kubernetes.io/pvOrVolumeName"] = spec.name.text();
  options["kubernetes.io/fsType"] = "xfs";
  options["kubernetes.io/readwrite"] = "rw";
  options["kubernetes.io/pod.namespace"] = "shop";
  for (const auto& [key, value] : changes) options[key] = value;
  JsonWriter json;
  json.begin_object();
  for (const auto& [key, value] : options) json.member(key, value);
  json.end_object();
  return json.take();
}

std::string status_of(const Answer& answer) {
  const auto document = JsonDocument::parse(answer.json);
  REQUIRE(document.ok());
  return std::string(document->root()["status"].text());
}

}  // namespace flexlocal::plugin
