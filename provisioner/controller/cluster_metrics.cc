#include "provisioner/controller/cluster_metrics.h"

#include "provisioner/kube/client_metrics.h"

namespace flexlocal::provisioner {
namespace {

using kube::Gauge;

// By what claims are decided by; a daemon that runs and cannot work says so in its Lease.
std::string_view daemon_state(const NodeView& node) {
  if (!node.health.daemon_runs() || node.beat == nullptr) return "absent";
  return node.beat->report.trouble.empty() ? "ready" : "not ready";
}

}  // namespace

void show_volumes(kube::Metrics& metrics, const ClusterView& view) {
  metrics.collect<Gauge>(
      {"flexlocal_volumes", "flexlocal's PersistentVolumes, by their phase.", {"phase"}},
      [&view](kube::Family<Gauge>& out) {
        view.volumes.for_each(
            [&](const std::string&, const Volume& volume) { out.with({volume.phase}).add(1); });
      });
}

void show_cluster(kube::Metrics& metrics, const ClusterView& view, const kube::WorkQueue& queue) {
  metrics.collect<Gauge>(
      {"flexlocal_nodes", "Nodes, by the state of flexlocal's daemon there.", {"daemon"}},
      [&view](kube::Family<Gauge>& out) {
        // All three from the beginning: an alert on "absent" must find a zero, too.
        for (const std::string_view state : {"ready", "not ready", "absent"}) out.with({state});
        view.nodes.for_each([&](const std::string&, const Node& node) {
          out.with({daemon_state(view.nodes.view_of(node))}).add(1);
        });
      });
  if (view.scope == Scope::kAllNodes) show_volumes(metrics, view);
  kube::show_queues(metrics, {{&queue, "cluster"}});
  kube::show_informers(metrics,
                       {kube::InformerView(view.claims), kube::InformerView(view.volumes),
                        kube::InformerView(view.classes), kube::InformerView(view.nodes.nodes()),
                        kube::InformerView(view.nodes.beats())});
}

}  // namespace flexlocal::provisioner
