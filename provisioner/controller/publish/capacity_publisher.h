// Publishes the room on all nodes for the scheduler: one CSIStorageCapacity for each node and
// class, by what their agents say on their Leases and what was ordered since.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "provisioner/controller/orders/node_chooser.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/open_claims.h"
#include "provisioner/objects/capacity_object.h"

namespace flexlocal::provisioner {

struct DaemonSetName {
  std::string namespace_name;
  std::string name;
};

class CapacityPublisher {
 public:
  // `daemon_set`: which owns the objects, and in whose namespace they are.
  CapacityPublisher(kube::ApiClient& api, const ClusterView& view, const OpenClaims& waiting,
                    const NodeChooser& chooser, DaemonSetName daemon_set)
      : api_(api),
        view_(view),
        waiting_(waiting),
        chooser_(chooser),
        daemon_set_(std::move(daemon_set)) {}

  // One pass over what is told of that node.
  Task<Status> work(const std::string& node);

  // What would be told: the largest volume of the class that can be ordered there.
  Bytes room_of(const Node& node, const StorageClass& storage_class);

  // By node and class.
  using Key = std::pair<std::string, std::string>;
  // What the API server has now, all of it: what somebody changed or removed is told again at the
  // next pass over its node.
  void compare(const std::map<Key, Bytes>& published);
  // What is there now is not known any more: all is told again at the next pass over each node.
  void forget_published() { published_.clear(); }
  // Called for each of these nodes. It must not wait.
  void on_changed(std::function<void(const std::string& node)> handler) {
    on_changed_ = std::move(handler);
  }

 private:
  Task<Status> find_place();
  bool has_place() const { return place_ && !place_->version.empty(); }
  Task<Result<CapacityOwner>> find_owner();
  Task<Status> publish(const NodeIdentity& node, const StorageClass& storage_class, Bytes size);

  kube::ApiClient& api_;
  const ClusterView& view_;
  const OpenClaims& waiting_;
  const NodeChooser& chooser_;
  DaemonSetName daemon_set_;
  std::optional<CapacityPlace> place_;
  std::map<Key, Bytes> published_;
  std::function<void(const std::string& node)> on_changed_;
};

}  // namespace flexlocal::provisioner
