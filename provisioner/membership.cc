#include "provisioner/membership.h"

#include "flexvolume/base/text.h"
#include "provisioner/node_memory.h"
#include "provisioner/objects.h"

namespace flexlocal::provisioner {
namespace {

// What a label's value can hold (apimachinery/pkg/util/validation).
constexpr std::size_t kMostLabelValue = 63;

}  // namespace

kube::Task<Result<Membership>> load_membership(kube::ApiClient& api, const std::string& node) {
  if (node.size() > kMostLabelValue)
    co_return Error(ErrorCode::kInvalid, concat("the Node's name has more than ", kMostLabelValue,
                                                " characters, so that no label can hold it"));
  const std::string node_path = kube::object_path("v1", "nodes", "", node);
  auto node_object = co_await api.get(node_path);
  if (!node_object) co_return node_object.error().context(concat("reading Node ", node));
  const JsonView meta = node_object->root()["metadata"];
  const std::string hostname(meta["labels"][kHostnameLabel].text());
  if (hostname.empty())
    co_return Error(ErrorCode::kNotFound, concat("Node ", node, " has no label ", kHostnameLabel));
  const std::string system_path = kube::object_path("v1", "namespaces", "", "kube-system");
  auto system = co_await api.get(system_path);
  if (!system) co_return system.error().context("reading namespace kube-system");
  co_return Membership{{node, hostname, std::string(meta["uid"].text())},
                       std::string(system->root()["metadata"]["uid"].text()),
                       memory_of(node_object->root())};
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
