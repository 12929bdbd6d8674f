#include "provisioner/kube/object_store.h"

namespace flexlocal::kube {

std::string object_key(JsonView object) {
  const JsonView metadata = object["metadata"];
  const std::string_view name = metadata["name"].text();
  const std::string_view namespace_name = metadata["namespace"].text();
  if (name.empty() || namespace_name.empty()) return std::string(name);
  return concat(namespace_name, '/', name);
}

}  // namespace flexlocal::kube
