// Makes the PersistentVolume of a copy that its node promised, for the claim that it was ordered
// for.
#pragma once

#include <string>

#include "provisioner/controller/cluster_parts.h"
#include "provisioner/controller/copy_index.h"
#include "provisioner/controller/order_desk.h"

namespace flexlocal::provisioner {

class VolumeBinder {
 public:
  VolumeBinder(ClusterParts& parts, OrderDesk& desk, const CopyIndex& index)
      : parts_(parts), desk_(desk), index_(index) {}

  // One that is there for this very copy is taken for ours; kExists for any other of that name.
  Task<Status> bind(const Claim& claim, const VolumeCopy& copy);

 private:
  Task<Status> adopt(const Claim& claim, const VolumeCopy& copy);
  void count_bound(const Claim& claim, const VolumeCopy& copy);
  void fail(const Claim& claim, const std::string& why);
  void say(const Claim& claim, kube::EventType type, std::string_view reason,
           const std::string& message);

  ClusterParts& parts_;
  OrderDesk& desk_;
  const CopyIndex& index_;
};

}  // namespace flexlocal::provisioner
