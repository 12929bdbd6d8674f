// Keeps the CSIDriver and the CSIStorageCapacities of the installation as they should be, by what
// the API server's watches say: where they are, nothing is asked of it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "provisioner/controller/publish/capacity_sweeper.h"
#include "provisioner/controller/publish/driver_registrar.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

struct RegistryOptions {
  std::string namespace_name;  // of the CSIStorageCapacities
  // Whether the CSIDriver is made where there is none.
  bool register_driver = true;
  // How often both are compared with what is to be there.
  std::chrono::nanoseconds interval = std::chrono::minutes(1);
};

class RegistryKeeper {
 public:
  // `synced`: whether the lists are complete by which is judged what somebody keeps.
  RegistryKeeper(boost::asio::io_context& io, kube::ApiClient& api, DriverRegistrar& registrar,
                 CapacitySweeper& sweeper, std::function<bool()> synced, RegistryOptions options,
                 Log& log)
      : io_(io),
        api_(api),
        registrar_(registrar),
        sweeper_(sweeper),
        synced_(std::move(synced)),
        options_(std::move(options)),
        log_(log) {}

  // Until its task is told to stop. Does nothing, for it would be of no use, where the API server
  // has no CSIStorageCapacity.
  Task<void> run();

 private:
  struct Watched;

  Task<Status> find_place();
  Task<bool> follow();
  Task<Status> reconcile(Watched& watched);
  Task<Status> rest(const Status& looked);

  boost::asio::io_context& io_;
  kube::ApiClient& api_;
  DriverRegistrar& registrar_;
  CapacitySweeper& sweeper_;
  std::function<bool()> synced_;
  RegistryOptions options_;
  Log& log_;
  CapacityPlace place_;  // without a version: there is none
  bool reported_none_ = false;
  LastingTrouble trouble_;
};

}  // namespace flexlocal::provisioner
