// What the API server has of flexlocal as a driver: the CSIDriver by which the scheduler asks for
// room, and the CSIStorageCapacities of nodes and classes that are there no more.
#pragma once

#include <string>

#include "provisioner/controller/capacity_teller.h"
#include "provisioner/controller/cluster_parts.h"
#include "provisioner/objects/capacity_object.h"

namespace flexlocal::provisioner {

class Registry {
 public:
  // `teller`: who tells of the room here; nullptr: the node daemons do.
  Registry(ClusterParts& parts, CapacityTeller* teller) : parts_(parts), teller_(teller) {}

  // One pass, to be repeated now and then: makes the CSIDriver when there is none, unless that is
  // left to the administrator, and says so when there is another than ours; then removes the
  // CSIStorageCapacities that nobody keeps. Nothing of it is done, for it would do nothing, where
  // the API server has no CSIStorageCapacity.
  Task<Status> look();

 private:
  Task<Status> find_place();
  Task<Status> look_after_driver();
  Task<Status> make_driver();
  void judge_driver(JsonView driver);
  Task<Status> sweep();
  Task<Status> remove(const PublishedCapacity& published, const std::string& why);
  std::string objection_to(const PublishedCapacity& published) const;

  ClusterParts& parts_;
  CapacityTeller* teller_;
  CapacityPlace place_;  // without a version: there is none
  bool told_of_none_ = false;
  std::string told_;  // how the CSIDriver differs
};

}  // namespace flexlocal::provisioner
