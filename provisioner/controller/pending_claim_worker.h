// Looks after claims that have no volume yet: takes a lost node's choice back, and says when no
// node has room.
#pragma once

#include <map>
#include <string>

#include "provisioner/controller/claims/room_summary.h"
#include "provisioner/controller/cluster_parts.h"
#include "provisioner/controller/immediate_placer.h"

namespace flexlocal::provisioner {

class PendingClaimWorker {
 public:
  explicit PendingClaimWorker(ClusterParts& parts) : parts_(parts), placer_(parts) {}

  // One pass over the claim "namespace/name"; to be repeated now and then, since most of what it
  // decides on is how much time has passed.
  Task<Status> work(const std::string& key);

  // The parts of it. One pass over a claim whose node was chosen: takes the choice back where the
  // node is lost.
  Task<Status> look_after_choice(const Claim& claim);
  // Takes the choice back, and says why on the claim.
  Task<Status> take_back(const Claim& claim, const std::string& why);
  // Says on the claim that no node has room, where it is ours and that is so for a while.
  void report_no_room(const Claim& claim);
  // There is no such claim any more.
  void forget(const std::string& key) { told_.erase(key); }

 private:
  // What was found and said of a claim for which there is no room.
  struct Told {
    Clock::Instant since;
    std::string text;
    Clock::Instant next{};
    unsigned times = 0;
  };

  std::optional<std::string> objection_to_way(const std::string& node) const;
  Task<Status> look_again(const std::string& node);
  Task<Status> look_for_node(const Claim& claim);
  bool is_for_us(const Claim& claim) const;
  std::optional<std::string> no_room(const Claim& claim) const;

  ClusterParts& parts_;
  ImmediatePlacer placer_;
  std::map<std::string, Told> told_;
};

}  // namespace flexlocal::provisioner
