// Takes claims with volumeBindingMode Immediate for this node, by --immediate=rank: every node
// ranks all of them for a claim in the same way, the first takes it, and each further one steps in
// if nobody has after a pause more. A claim is taken by its annotation, as the scheduler would
// choose this node; OrderWorker then orders the volume.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/controller/publish/capacity_survey.h"
#include "provisioner/controller/publish/claim_taker.h"
#include "provisioner/controller/ranking/immediate_rank.h"
#include "provisioner/controller/ranking/take_line.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/objects/node_object.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

class RankPlacer {
 public:
  // `admit`: the claim may be worked on again after so long.
  RankPlacer(const ClusterView& view, CapacitySurvey& survey, ClaimTaker& taker, const Clock& clock,
             TakeLine::Admit admit)
      : view_(view),
        survey_(survey),
        taker_(taker),
        clock_(clock),
        own_hash_(hash_of_node(view.own_node)),
        line_(clock, std::move(admit)) {}

  // To be called at each change of the claim "namespace/name". Whether it waits for a node.
  bool notice(const std::string& key);

  // Of a claim that waits, as notice() said: how long others go first by the last list, however old
  // it is, so that no pass is spent on what others take. nullopt: that takes a pass. What is longer
  // than kRound is remembered here: next_round() says when to look again, once a kRound for all of
  // them, for in a burst nearly all claims are such ones, and others take most before their time.
  RequeueAfter others_first(const std::string& key);
  static constexpr std::chrono::seconds kRound{10};
  // The claims to look at again within the next kRound; each is said once.
  std::vector<std::string> next_round();

  // One pass over a claim. Nothing may work on it meanwhile. nullopt: it is to be worked on when it
  // changes, CapacitySurvey has a new list, or `admit` says so.
  Task<Requeue> work(const std::string& key);

  // The claims that wait for a list.
  std::vector<std::string> asking() const;

 private:
  // A claim of an Immediate class that has no volume yet, and waits for a node or has this one.
  struct Seen {
    std::string uid;
    std::optional<Clock::Instant> since{};  // it waits; nullopt: it has a node
    // Since this node has known its place: none could have taken the claim much sooner.
    std::optional<Clock::Instant> ranked{};
    Clock::Instant due{};                  // its turn for this node came, or will come
    bool asks = false;                     // for a list
    bool ours = false;                     // it has this node
    Clock::Instant not_before{};           // it was handed back by this node
    std::optional<Clock::Instant> look{};  // the round to look at it again in
    std::string lost_version{};            // the version at which somebody was faster
  };

  RequeueAfter consider(const Claim& claim, const StorageClass& storage_class, Bytes size);
  RequeueAfter turn(const Claim& claim, const StorageClass& storage_class, Bytes size, Seen& seen);
  RequeueAfter enter_line(const std::string& key);
  bool may_be_here(const StorageClass& storage_class) const;
  void settle(const std::string& key, const Claim* taken);
  void end_wait(const std::string& key, Seen& seen);
  void note_taken(const Claim& claim, std::chrono::nanoseconds waited);
  std::chrono::nanoseconds pause_among(const ToldRooms& told) const;
  RequeueAfter turn_by(const ToldRooms& told, const Claim& claim, const StorageClass& storage_class,
                       Bytes size, Seen& seen);
  RequeueAfter behind_others(const Claim& claim, const StorageClass& storage_class, Bytes size,
                             Seen& seen);
  RankCandidate own_candidate(const std::string& storage_class, Bytes size,
                              const ToldRooms& told) const;
  Task<Status> refresh(const Claim& claim);
  Task<Requeue> take(const Claim& claim, const Order& order);

  const ClusterView& view_;
  CapacitySurvey& survey_;
  ClaimTaker& taker_;
  const Clock& clock_;
  NodeHash own_hash_;
  std::unordered_map<std::string, Seen> seen_;  // by claim
  std::size_t waiting_ = 0;                     // of those
  TakeLine line_;
  RankPause pause_;
};

}  // namespace flexlocal::provisioner
