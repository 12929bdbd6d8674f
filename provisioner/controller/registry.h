// What the API server has of flexlocal as a driver: the CSIDriver by which the scheduler asks for
// room, and the CSIStorageCapacities of nodes and classes that are there no more.
#pragma once

#include <string>

#include "provisioner/controller/capacity_publisher.h"
#include "provisioner/controller/cluster_view.h"
#include "provisioner/kube/events.h"
#include "provisioner/objects/capacity_object.h"
#include "provisioner/objects/driver_object.h"

namespace flexlocal::provisioner {

class Registry {
 public:
  // `place`: where the objects are. `driver` and `capacities`: those that are there. `publisher`:
  // who tells of the room here; nullptr: the node daemons do.
  Registry(kube::ApiClient& api, const ClusterView& view, CapacityPublisher* publisher,
           const CapacityPlace& place, kube::Informer<RegisteredDriver>& driver,
           const kube::Informer<PublishedCapacity>& capacities, kube::EventRecorder& events,
           Log& log)
      : api_(api),
        view_(view),
        publisher_(publisher),
        place_(place),
        driver_(driver),
        capacities_(capacities),
        events_(events),
        log_(log) {}

  // Each to be repeated now and then, when its list is complete. Makes the CSIDriver when there is
  // none, and says so when there is another than ours.
  Task<Status> reconcile_driver();
  // Removes the CSIStorageCapacities that nobody keeps.
  Task<Status> sweep();

 private:
  Task<Status> make_driver();
  void check_driver(const RegisteredDriver& driver);
  Task<Status> remove(const PublishedCapacity& published, const std::string& why);
  std::string objection_to(const PublishedCapacity& published) const;

  kube::ApiClient& api_;
  const ClusterView& view_;
  CapacityPublisher* publisher_;
  const CapacityPlace& place_;
  kube::Informer<RegisteredDriver>& driver_;
  const kube::Informer<PublishedCapacity>& capacities_;
  kube::EventRecorder& events_;
  Log& log_;
  std::string reported_;  // how the CSIDriver differs
};

}  // namespace flexlocal::provisioner
