// Reports on a claim that no node has room for it, once that has been so for a while.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "provisioner/controller/claims/immediate_plan.h"
#include "provisioner/controller/claims/room_summary.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/cluster_work.h"
#include "provisioner/controller/view/event_reporter.h"

namespace flexlocal::provisioner {

struct NoRoomOptions {
  ImmediateBinding immediate = ImmediateBinding::kCentral;
  // How long no node must have room: a node that frees some says so soon.
  std::chrono::nanoseconds after = std::chrono::seconds(15);
};

class NoRoomReport {
 public:
  NoRoomReport(const ClusterView& view, EventReporter events, const NoRoomOptions& options,
               const Clock& clock, ClusterWork& work)
      : view_(view), events_(std::move(events)), options_(options), clock_(clock), work_(work) {}

  // Whether the claim is ours to report on: it waits for a volume, and is marked; or its class is
  // ours and no node was selected for it, which is looked after once it is marked.
  bool concerns(const Claim& claim) const;
  // One pass over the claim.
  void report(const Claim& claim);
  // It waits no more, or is gone.
  void forget(const std::string& key) { reported_.erase(key); }

 private:
  // What was found and reported of a claim for which there is no room.
  struct Reported {
    Clock::Instant since;
    std::string text;
    Clock::Instant next{};
    unsigned times = 0;
  };

  std::optional<std::string> no_room(const Claim& claim) const;
  std::optional<NoRoom> bar_on(const NodeView& node) const;

  const ClusterView& view_;
  EventReporter events_;
  NoRoomOptions options_;
  const Clock& clock_;
  ClusterWork& work_;
  std::map<std::string, Reported> reported_;  // by claim
};

}  // namespace flexlocal::provisioner
