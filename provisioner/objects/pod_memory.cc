#include "provisioner/objects/pod_memory.h"

#include <algorithm>
#include <utility>

#include "flexvolume/base/text.h"
#include "provisioner/objects/claim_pods.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

Bytes quantity(JsonView memory) {
  const auto parsed = parse_quantity(memory.text());
  return parsed ? *parsed : Bytes();
}

Bytes request_of(JsonView container) {
  return quantity(container["resources"]["requests"]["memory"]);
}

// What runs from the beginning to the end, and the most that is needed before that begins.
Bytes of_containers(JsonView spec) {
  Bytes sidecars, most_at_start, running;
  const JsonView first = spec["initContainers"];
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Bytes request = request_of(first.at(i));
    const bool stays = first.at(i)["restartPolicy"].text() == "Always";
    most_at_start = std::max(most_at_start, sidecars + request);
    if (stays) sidecars += request;
  }
  const JsonView containers = spec["containers"];
  for (std::size_t i = 0; i < containers.size(); ++i) running += request_of(containers.at(i));
  return std::max(most_at_start, running + sidecars);
}

// Older pods first; of one second by name.
std::pair<std::string, std::string> age_of(JsonView pod) {
  const JsonView meta = pod["metadata"];
  return {std::string(meta["creationTimestamp"].text()), std::string(meta["name"].text())};
}

}  // namespace

Bytes memory_requested(JsonView pod) {
  const JsonView spec = pod["spec"];
  const JsonView whole = spec["resources"]["requests"]["memory"];
  return (whole.exists() ? quantity(whole) : of_containers(spec)) +
         quantity(spec["overhead"]["memory"]);
}

// One that has begun has its volumes, and Pending ones are few.
Task<Result<Bytes>> memory_of_first_pod(kube::ApiClient& api, const std::string& namespace_name,
                                        const std::string& claim) {
  const std::string path = pods_path(namespace_name);
  kube::Query selectors;
  selectors.add("fieldSelector", "status.phase=Pending");
  std::pair<std::string, std::string> oldest;
  std::optional<Bytes> memory;
  const Visit visit = [&](JsonView pod) -> Status {
    if (!uses_claim(pod, claim)) return {};
    auto age = age_of(pod);
    if (memory && oldest <= age) return {};
    oldest = std::move(age);
    memory = memory_requested(pod);
    return {};
  };
  const auto visited = co_await visit_all(api, path, selectors, visit);
  if (!visited) co_return visited.error();
  if (!memory)
    co_return Error(ErrorCode::kNotFound, "no pod that waits for the claim is to be seen");
  co_return *memory;
}

Task<Result<Bytes>> disk_for_first_pod(kube::ApiClient& api, const std::string& namespace_name,
                                       const std::string& claim, Ratio disk_per_ram) {
  const auto memory = co_await memory_of_first_pod(api, namespace_name, claim);
  if (!memory && memory.error().code() == ErrorCode::kDenied)
    co_return Error(ErrorCode::kDenied,
                    "sizeFrom podMemory needs leave to read pods, which this daemon does not have: "
                    "kubectl apply -f read-pods.yaml of the folder that it was installed from");
  if (!memory) co_return memory.error().context("sizeFrom podMemory");
  co_return disk_for(*memory, disk_per_ram);
}

}  // namespace flexlocal::provisioner
