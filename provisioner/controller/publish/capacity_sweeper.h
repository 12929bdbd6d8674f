// Removes the CSIStorageCapacities that nobody keeps: of nodes and classes that are there no more.
#pragma once

#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/controller/publish/capacity_publisher.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/capacity_object.h"

namespace flexlocal::provisioner {

class CapacitySweeper {
 public:
  // `publisher`: who publishes the room here; nullptr: the node daemons do.
  CapacitySweeper(kube::ApiClient& api, const ClusterView& view, CapacityPublisher* publisher,
                  Log& log)
      : api_(api), view_(view), publisher_(publisher), log_(log) {}

  // To be repeated now and then, when the list is complete. `place`: where the objects are;
  // `capacities`: those that are there.
  Task<Status> sweep(const CapacityPlace& place,
                     const kube::Informer<PublishedCapacity>& capacities);

 private:
  Task<Status> remove(const CapacityPlace& place, const PublishedCapacity& published,
                      const std::string& why);
  std::string objection_to(const PublishedCapacity& published) const;

  kube::ApiClient& api_;
  const ClusterView& view_;
  CapacityPublisher* publisher_;
  Log& log_;
};

}  // namespace flexlocal::provisioner
