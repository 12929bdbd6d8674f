// Looks after the node that was selected for a claim: unassigns the claim where that node is lost.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/cluster_work.h"
#include "provisioner/controller/view/event_reporter.h"

namespace flexlocal::provisioner {

class SelectedNodeWorker {
 public:
  // `lost_after`: how long the node may be NotReady.
  SelectedNodeWorker(kube::ApiClient& api, ClusterView& view, std::chrono::nanoseconds lost_after,
                     EventReporter events, Log& log, ClusterWork& work)
      : api_(api),
        view_(view),
        lost_after_(lost_after),
        events_(std::move(events)),
        log_(log),
        work_(work) {}

  // One pass over a claim with a selected node; to be repeated now and then, since most of what it
  // decides on is how much time has passed.
  Task<Status> check(const Claim& claim);
  // Takes the node from the claim, so that another one is selected, and reports why on the claim.
  Task<Status> unassign(const Claim& claim, const std::string& why);

 private:
  std::optional<std::string> objection_to_way(const std::string& node) const;
  Task<Status> refresh(const std::string& node);

  kube::ApiClient& api_;
  ClusterView& view_;
  std::chrono::nanoseconds lost_after_;
  EventReporter events_;
  Log& log_;
  ClusterWork& work_;
};

}  // namespace flexlocal::provisioner
