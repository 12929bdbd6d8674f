// Has a Registry look again and again, by what the API server's watches say: where all is as it
// should be nothing is asked of it.
#pragma once

#include <functional>

#include "provisioner/controller/registry.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

class RegistryKeeper {
 public:
  // `synced`: whether the lists are complete by which is judged what somebody keeps. `teller`: see
  // Registry.
  RegistryKeeper(boost::asio::io_context& io, ClusterParts& parts, CapacityTeller* teller,
                 std::function<bool()> synced)
      : io_(io), parts_(parts), teller_(teller), synced_(std::move(synced)) {}

  // Until its task is told to stop. Does nothing, for it would be of no use, where the API server
  // has no CSIStorageCapacity.
  Task<void> run();

 private:
  struct Watched;

  Task<Status> find_place();
  Task<bool> follow();
  Task<Status> look(Registry& registry, const Watched& watched) const;
  Task<Status> rest(const Status& looked);

  boost::asio::io_context& io_;
  ClusterParts& parts_;
  CapacityTeller* teller_;
  std::function<bool()> synced_;
  CapacityPlace place_;  // without a version: there is none
  bool told_of_none_ = false;
  LastingTrouble trouble_;
};

}  // namespace flexlocal::provisioner
