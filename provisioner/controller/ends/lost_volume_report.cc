#include "provisioner/controller/ends/lost_volume_report.h"

#include "provisioner/controller/reclaim/lost_volume_plan.h"

namespace flexlocal::provisioner {

void LostVolumeReport::report(const Volume& volume) {
  const std::string advice = advice_on(volume);
  if (!events_.is_news(volume.name, "NodeDeleted", advice)) return;
  work_.lost_volumes_told.with({}).add();
  log_.warning("PersistentVolume of a deleted node",
               {{"volume", volume.name}, {"node", volume.node}, {"advice", advice}});
  events_.record(volume, kube::EventType::kWarning, "NodeDeleted", advice);
  if (volume.phase == "Bound")  // so its claim is there
    events_.record(reference_to_claim_of(volume), kube::EventType::kWarning, "NodeDeleted", advice);
}

void LostVolumeReport::report_released(const Volume& volume) {
  work_.lost_volumes_removed.with({}).add();
  log_.warning("PersistentVolume of a deleted node let go; its data was not wiped",
               {{"volume", volume.name}, {"node", volume.node}});
}

}  // namespace flexlocal::provisioner
