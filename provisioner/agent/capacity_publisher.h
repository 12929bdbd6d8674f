// Keeps the scheduler told of the room on this node: one CSIStorageCapacity for each class.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "provisioner/agent/node_parts.h"
#include "provisioner/controller/capacity/capacity_plan.h"
#include "provisioner/kube/condition.h"
#include "provisioner/objects/capacity_object.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

struct CapacityOptions {
  bool enabled = false;
  std::string namespace_name{};  // of the objects
  std::string daemon_set{};      // their owner, there
  // How often each is written whether it has changed or not: whatever somebody did to it is over
  // then. An unchanged object costs the API server no write to etcd.
  std::chrono::nanoseconds poll_interval = std::chrono::minutes(1);
  // How often the truth is looked at. Half of what a told size may be behind it.
  std::chrono::nanoseconds look_interval = std::chrono::milliseconds(500);
};

class CapacityPublisher {
 public:
  // Whether volumes can be made at all: if not, no class has room. nullopt: it is not known yet.
  using Usable = std::function<std::optional<bool>()>;
  CapacityPublisher(NodeParts& parts, CapacityOptions options, Usable usable)
      : parts_(parts), options_(std::move(options)), usable_(std::move(usable)) {}

  // Until its task is told to stop. Failures are logged once each and tried again.
  Task<void> run();

  // There is a class more, or a changed one: it is looked at now. A scheduler before
  // Kubernetes 1.21 that finds no room for a pod looks again only after a minute.
  void touch() { touched_.notify_all(); }

  // One look at the truth, and whatever is to be told of it.
  Task<Status> look();

  // What would be told now: the largest volume of the class that can be made here. nullopt: it is
  // not known now, and will be soon.
  std::optional<Bytes> room_of(const std::string& storage_class) const;

 private:
  struct Told {
    Bytes size;
    Clock::Instant when;
  };

  Task<Status> find_place();
  Task<Result<CapacityOwner>> find_owner();
  Task<Status> know_disks();
  Task<Status> tell(const StorageClass& storage_class, Bytes size);
  Task<Status> create(const StorageClass& storage_class, Bytes size);
  std::vector<Bytes> waiting_for(const std::string& storage_class) const;
  bool is_due(const std::string& storage_class, Bytes size) const;
  void forget_gone_classes();

  NodeParts& parts_;
  CapacityOptions options_;
  Usable usable_;
  std::optional<CapacityPlace> place_;
  std::map<std::string, Told> told_;  // by class
  Clock::Instant disks_asked_{};
  kube::Condition touched_;
  LastingTrouble trouble_;
};

}  // namespace flexlocal::provisioner
