#include "test/unit/objects/json_merge.h"

#include <stdexcept>

namespace flexlocal::provisioner::test {
namespace {

void write_merged(JsonWriter& json, JsonView target, JsonView patch) {
  if (!patch.is_object()) {
    json.value(patch);
    return;
  }
  json.begin_object();
  target.for_each_member([&](std::string_view name, JsonView value) {
    if (patch[name].exists()) return;
    json.key(name).value(value);
  });
  patch.for_each_member([&](std::string_view name, JsonView value) {
    if (value.dump() == "null") return;
    json.key(name);
    write_merged(json, target[name], value);
  });
  json.end_object();
}

}  // namespace

JsonDocument parsed(const std::string& text) {
  auto document = JsonDocument::parse(text);
  if (!document) throw std::logic_error(document.error().message());
  return std::move(*document);
}

std::string merged(const std::string& target, JsonView patch) {
  const auto document = parsed(target);
  JsonWriter json;
  write_merged(json, document.root(), patch);
  return json.take();
}

std::string merged(const std::string& target, const std::string& patch) {
  const auto document = parsed(patch);
  return merged(target, document.root());
}

}  // namespace flexlocal::provisioner::test
