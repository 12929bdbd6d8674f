#include "provisioner/agent/node_metrics.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/agent/pool_metrics.h"
#include "provisioner/kube/client_metrics.h"

namespace flexlocal::provisioner {
namespace {

using kube::Family;
using kube::Gauge;

void show_volumes(kube::Metrics& metrics, const NodeParts& parts) {
  metrics.collect<Gauge>(
      {"flexlocal_volumes", "PersistentVolumes of this node, by their phase.", {"phase"}},
      [&parts](Family<Gauge>& out) {
        parts.volumes.for_each(
            [&](const std::string&, const Volume& volume) { out.with({volume.phase}).add(1); });
      });
  metrics.collect_gauge(
      "flexlocal_wiping_volumes", "Volumes whose wiping has begun and is not complete.", [&parts] {
        const engine::Inventory* const seen = parts.ledger.last_seen();
        if (seen == nullptr) return 0.0;
        return static_cast<double>(std::count_if(
            seen->volumes.begin(), seen->volumes.end(), [](const engine::LogicalVolume& volume) {
              return volume.ownership && volume.ownership->wiping;
            }));
      });
  metrics.collect_gauge(
      "flexlocal_retained_volumes",
      "Volumes without a PersistentVolume that the policy Retain keeps.", [&parts] {
        const engine::Inventory* const seen = parts.ledger.last_seen();
        if (seen == nullptr) return 0.0;
        return static_cast<double>(std::count_if(
            seen->retained.begin(), seen->retained.end(), [&](const engine::RetainedVolume& kept) {
              return kept.cluster_id == parts.cluster_id && parts.volumes.get(kept.name) == nullptr;
            }));
      });
}

}  // namespace

Status node_readiness(const NodeParts& parts) {
  for (const Status& list :
       {check_synced(parts.claims), check_synced(parts.volumes), check_synced(parts.classes)})
    if (!list) return list;
  if (auto disks = disks_readiness(parts.ledger); !disks) return disks;
  return parts.kubelet_init.look();
}

void show_node(kube::Metrics& metrics, const NodeParts& parts, const kube::WorkQueue& queue,
               const engine::NodeConfig& config, const std::string& host_counts) {
  parts.work.show_in(metrics);
  show_pools(metrics, parts.ledger, config);
  show_budgets(metrics, parts.ledger, parts.budget, config);
  show_volumes(metrics, parts);
  show_host_counts(metrics, host_counts);
  metrics.collect_gauge("flexlocal_ready", "Whether /readyz says so.",
                        [&parts] { return node_readiness(parts) ? 1.0 : 0.0; });
  kube::show_queues(metrics, {{&queue, "node"}});
  kube::show_requests(metrics, {&parts.api});
  kube::show_informers(metrics,
                       {kube::InformerView(parts.claims), kube::InformerView(parts.volumes),
                        kube::InformerView(parts.classes)});
}

}  // namespace flexlocal::provisioner
