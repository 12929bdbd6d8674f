// A copy that no PersistentVolume names.
#pragma once

#include <chrono>
#include <optional>

#include "provisioner/controller/reclaim/lost_volume_plan.h"
#include "provisioner/controller/reclaim/orphan_policy.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

// By what stands in its VolumeCopy, or by what its node tells where no VolumeCopy names it.
struct Orphan {
  CopyOrder order;  // of one that no VolumeCopy names: to keep it as it is
  bool retained = false;
  std::optional<VolumeCopy> object{};
};

struct OrphanOptions {
  OrphanPolicy policy = OrphanPolicy::kReport;
  // How long a copy must be an orphan before it is removed, or a person is told once more.
  std::chrono::nanoseconds grace = std::chrono::hours(1);
  // See ClusterRoleOptions.
  bool saw_put_back = false;
  NodeDeletePolicy node_delete_policy = NodeDeletePolicy::kReport;
};

}  // namespace flexlocal::provisioner
