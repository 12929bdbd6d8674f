#include "flexvolume/base/text.h"
#include "provisioner/kube/api.h"

namespace flexlocal::kube {

std::string object_path(std::string_view group_version, std::string_view resource,
                        std::string_view namespace_name, std::string_view name) {
  const std::size_t slash = group_version.find('/');
  std::string path = slash == std::string_view::npos
                         ? concat("/api/", escape(group_version))
                         : concat("/apis/", escape(group_version.substr(0, slash)), '/',
                                  escape(group_version.substr(slash + 1)));
  if (!namespace_name.empty()) path += concat("/namespaces/", escape(namespace_name));
  path += concat('/', escape(resource));
  if (!name.empty()) path += concat('/', escape(name));
  return path;
}

Query& Query::add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  if (!text_.empty()) text_ += '&';
  text_ += concat(escape(name), '=', escape(value));
  return *this;
}

}  // namespace flexlocal::kube
