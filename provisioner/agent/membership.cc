#include "provisioner/agent/membership.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/names.h"
#include "provisioner/objects/objects.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {

kube::Task<Result<Membership>> load_membership(kube::ApiClient& api, const std::string& node) {
  if (node.size() > kMostLabelValue)
    co_return Error(ErrorCode::kInvalid, concat("the Node's name has more than ", kMostLabelValue,
                                                " characters, so that no label can hold it"));
  const std::string path = node_path(node);
  auto node_object = co_await api.get(path);
  if (!node_object) co_return node_object.error().context(concat("reading Node ", node));
  NodeIdentity identity = identity_of(node_object->root());
  identity.name = node;
  if (identity.hostname.empty())
    co_return Error(ErrorCode::kNotFound, concat("Node ", node, " has no label ", kHostnameLabel));
  const std::string system_path = namespace_path("kube-system");
  auto system = co_await api.get(system_path);
  if (!system) co_return system.error().context("reading namespace kube-system");
  co_return Membership{std::move(identity), uid_of(system->root()), memory_of(node_object->root())};
}

kube::Task<Result<Membership>> await_membership(kube::ApiClient& api, const std::string& node,
                                                Log& log) {
  for (;;) {
    auto membership = co_await load_membership(api, node);
    const bool busy = !membership && membership.error().code() == ErrorCode::kUnavailable;
    if (!busy || !api.told_to_wait()) co_return membership;
    log.warning("the API server asks for a pause", {{"error", membership.error().message()}});
    if (auto over = co_await api.end_of_pause(); !over) co_return over.error();
  }
}

}  // namespace flexlocal::provisioner
