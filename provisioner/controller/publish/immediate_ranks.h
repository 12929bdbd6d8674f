// With --immediate=rank, for the controller of one node: which claims with volumeBindingMode
// Immediate this node takes, and when it looks at them.
#pragma once

#include <string>

#include "provisioner/controller/publish/capacity_survey.h"
#include "provisioner/controller/publish/rank_placer.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

class ImmediateRanks {
 public:
  ImmediateRanks(const ClusterView& view, CapacitySurvey& survey, ClaimTaker& taker,
                 kube::WorkQueue& queue, const Clock& clock);

  // What the others tell, and claims that others go first for; until their tasks are told to stop.
  Task<void> follow_rooms();
  Task<void> follow_rounds();

  // At each change of the claim: whether it waits for a node, and this one's turn may have come. In
  // a burst nearly all claims are other nodes', and no pass is spent on them: while others go first
  // it is looked at again later.
  bool notice(const std::string& claim);
  // One pass over a claim that waits for a node.
  Task<Status> work(const std::string& claim);
  // When the survey has a new list.
  void enqueue_asking();

 private:
  const ClusterView& view_;
  CapacitySurvey& survey_;
  kube::WorkQueue& queue_;
  RankPlacer placer_;
};

}  // namespace flexlocal::provisioner
