// Registers flexlocal with the API server as a driver: by the CSIDriver, for which the scheduler
// asks for room.
#pragma once

#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/kube/events.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/driver_object.h"

namespace flexlocal::provisioner {

using kube::Task;

class DriverRegistrar {
 public:
  DriverRegistrar(kube::ApiClient& api, kube::EventRecorder& events, Log& log)
      : api_(api), events_(events), log_(log) {}

  // To be repeated now and then, when the list is complete. `known`: the CSIDriver that is there.
  // Makes the CSIDriver when there is none,
  // and reports when there is another than ours.
  Task<Status> reconcile(kube::Informer<RegisteredDriver>& known);
  // How it differs is reported once more.
  void forget_reported() { reported_.clear(); }

 private:
  Task<Status> make_driver(kube::Informer<RegisteredDriver>& known);
  void check_driver(const RegisteredDriver& driver);

  kube::ApiClient& api_;
  kube::EventRecorder& events_;
  Log& log_;
  std::string reported_;  // how the CSIDriver differs
};

}  // namespace flexlocal::provisioner
