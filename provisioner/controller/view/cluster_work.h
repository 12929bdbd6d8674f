// What the cluster role counts.
#pragma once

#include "provisioner/work/work_metrics.h"

namespace flexlocal::provisioner {

// One for the process: its counters go on from one term to the next.
struct ClusterWork {
  template <typename T>
  using Family = kube::Family<T>;
  using Counter = kube::Counter;

  Family<Counter> claims_handed_back{
      {"flexlocal_claims_handed_back_total",
       "Claims whose selected node was lost, or could not have the volume, handed back."}};
  Family<Counter> claims_placed{
      {"flexlocal_claims_placed_total",
       "Claims with volumeBindingMode Immediate that a node was chosen for."}};
  Family<Counter> no_room_told{
      {"flexlocal_claims_without_room_told_total", "Events on claims that no node has room for."}};
  Family<Counter> lost_volumes_told{
      {"flexlocal_lost_volumes_told_total",
       "Times that somebody was told what to do about a volume of a deleted node."}};
  Family<Counter> lost_volumes_removed{{"flexlocal_lost_volumes_removed_total",
                                        "PersistentVolumes of deleted nodes that were let go."}};

  Family<Counter> promises_given_up{
      {"flexlocal_promises_given_up_total",
       "Volumes that their node had promised and could not make: each gets another node."}};

  // Of a controller of one node, with --immediate=rank.
  Family<Counter> claims_taken{{"flexlocal_immediate_claims_taken_total",
                                "Claims with volumeBindingMode Immediate that this node took."}};
  Family<Counter> immediate_conflicts{
      {"flexlocal_immediate_conflicts_total",
       "Times that a claim changed, as when another node took it, while this node did."}};

  // Of a leader that gives all orders: from the order, or its last change, to what came of it.
  VolumeMetrics volumes;

  // All but `volumes`. It must outlive `metrics`.
  void show_in(kube::Metrics& metrics) const;
};

}  // namespace flexlocal::provisioner
