#include "provisioner/objects/claim_pods.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {

bool uses_claim(JsonView pod, std::string_view claim) {
  const JsonView volumes = pod["spec"]["volumes"];
  const std::string_view name = pod["metadata"]["name"].text();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const JsonView volume = volumes.at(i);
    if (volume["persistentVolumeClaim"]["claimName"].text() == claim && !claim.empty()) return true;
    if (volume["ephemeral"].exists() && concat(name, '-', volume["name"].text()) == claim)
      return true;
  }
  return false;
}

Task<Result<std::vector<std::string>>> pods_on_node(kube::ApiClient& api,
                                                    const std::string& namespace_name,
                                                    const std::string& claim,
                                                    const std::string& node, std::size_t most) {
  const std::string path = pods_path(namespace_name);
  kube::Query selectors;
  selectors.add("fieldSelector", concat("spec.nodeName=", node));
  std::vector<std::string> names;
  const Visit visit = [&](JsonView pod) -> Status {
    if (names.size() < most && uses_claim(pod, claim))
      names.emplace_back(pod["metadata"]["name"].text());
    return {};
  };
  const auto visited = co_await visit_all(api, path, selectors, visit);
  if (!visited) co_return visited.error();
  co_return names;
}

}  // namespace flexlocal::provisioner
