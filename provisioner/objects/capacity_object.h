// The objects by which the stock scheduler knows where there is room: a CSIStorageCapacity for each
// node and class, beside the CSIDriver of our name. The scheduler asks no further whether they are
// a CSI driver's. Source: pkg/controller/volume/scheduling/scheduler_binder.go (hasEnoughCapacity),
// KEP-1472
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/bytes.h"
#include "provisioner/kube/api.h"
#include "provisioner/objects/node_object.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

using kube::Task;

inline constexpr std::string_view kCapacities = "csistoragecapacities";

// The version of storage.k8s.io that has CSIStorageCapacity here: "storage.k8s.io/v1" since
// Kubernetes 1.24, v1beta1 since 1.21, v1alpha1 where an administrator has switched it on. Empty:
// this API server has none. An Error when that cannot be known now.
Task<Result<std::string>> find_capacity_version(kube::ApiClient& api);

// What owns the objects, so that they go with it.
struct CapacityOwner {
  std::string name;  // of a DaemonSet in their namespace
  std::string uid;   // empty: there is none
};

// Where the objects of a node are, and whose they are.
struct CapacityPlace {
  std::string version;  // as find_capacity_version() says
  std::string namespace_name;
  CapacityOwner owner{};
};

// By node and class, the same each time: the daemon need not look for what it published before it
// was started anew. "flexlocal-" and 32 hexadecimal digits.
std::string capacity_name(const NodeIdentity& node, std::string_view storage_class);

// The path of one; `name` empty: of all.
std::string capacity_path(const CapacityPlace& place, std::string_view name);

// The object to create. `size`: the largest volume that the node can make. It is told as
// `capacity` and, where the version has that, `maximumVolumeSize`: the scheduler compares a claim
// with the latter if it is there, else with the former, and a sum of what several volumes could
// have would be wrong for it.
std::string capacity_json(const CapacityPlace& place, const NodeIdentity& node,
                          const StorageClass& storage_class, Bytes size);
// The merge patch that changes the size. A class that was deleted and made anew may bind in another
// way than the one that the object was created for; nothing else of it ever changes.
std::string capacity_patch(const CapacityPlace& place, const StorageClass& storage_class,
                           Bytes size);

// One as the API server has it. What is no quantity is no room.
struct PublishedCapacity {
  std::string name;
  std::string node;
  std::string hostname;  // kHostnameLabel of its nodes
  std::string storage_class;
  Bytes size;
  kube::Preconditions preconditions;
  bool is_ours = true;  // its two sizes are one, as they are always written here
};
PublishedCapacity decode_capacity(JsonView object);

}  // namespace flexlocal::provisioner
