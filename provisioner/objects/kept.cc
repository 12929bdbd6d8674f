#include "provisioner/objects/kept.h"

#include <string>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

bool is_null(JsonView value) { return value.exists() && value.dump() == "null"; }

// The path of the first value that was not kept; empty: there is none.
std::string first_lost(JsonView sent, JsonView kept, const std::string& path) {
  if (is_null(sent)) return kept.exists() && !is_null(kept) ? path : std::string();
  std::string lost;
  if (sent.is_object()) {
    sent.for_each_member([&](std::string_view name, JsonView value) {
      if (lost.empty()) lost = first_lost(value, kept[name], concat(path, '.', name));
    });
    return lost.empty() && !kept.is_object() ? path : lost;
  }
  if (sent.is_array()) {
    if (!kept.is_array() || kept.size() != sent.size()) return path;
    for (std::size_t i = 0; lost.empty() && i < sent.size(); ++i)
      lost = first_lost(sent.at(i), kept.at(i), concat(path, '[', i, ']'));
    return lost;
  }
  return kept.exists() && kept.dump() == sent.dump() ? std::string() : path;
}

}  // namespace

Status check_kept(JsonView sent, JsonView kept) {
  // The server changes the version with each write, and that is what it is sent for.
  std::string lost;
  sent.for_each_member([&](std::string_view name, JsonView value) {
    if (!lost.empty() || name == "metadata") return;
    lost = first_lost(value, kept[name], std::string(name));
  });
  if (lost.empty()) return {};
  return Error(ErrorCode::kInvalid,
               concat("the API server did not keep ", lost,
                      " as it was sent: its CustomResourceDefinition is of another version than "
                      "flexlocal; apply volumecopy.yaml of this version's examples"));
}

}  // namespace flexlocal::provisioner
