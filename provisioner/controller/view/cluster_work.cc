#include "provisioner/controller/view/cluster_work.h"

namespace flexlocal::provisioner {

void ClusterWork::show_in(kube::Metrics& metrics) const {
  metrics.show(claims_handed_back);
  metrics.show(claims_placed);
  metrics.show(no_room_told);
  metrics.show(lost_volumes_told);
  metrics.show(lost_volumes_removed);
  metrics.show(promises_given_up);
}

}  // namespace flexlocal::provisioner
