// The roll call: holds back new orders until all nodes have said what they have.
#pragma once

#include <map>
#include <set>
#include <string>

#include "provisioner/controller/claims/roll_call.h"
#include "provisioner/controller/cluster_parts.h"
#include "provisioner/controller/copy_index.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

// A person's word that a node is not waited for: the label of a Node, and its value.
inline constexpr std::string_view kRollCallLabel = "flexlocal.io/roll-call";
inline constexpr std::string_view kRollCallSkip = "skip";

// For so long after a put-back was seen its consequences are expected.
inline constexpr std::chrono::hours kPutBackCounts{1};

class RollCaller {
 public:
  // To be made before `copies` takes anything in, behind `index`, and to be kept as long as it
  // does. `put_back`: whether the API server was seen to be put back. It outlives the term, and the
  // roll call clears it when it is over.
  RollCaller(ClusterParts& parts, kube::Informer<VolumeCopy>& copies, const CopyIndex& index,
             bool& put_back);
  RollCaller(const RollCaller&) = delete;
  RollCaller& operator=(const RollCaller&) = delete;

  // All lists are complete, and no order is of this term yet. Once more when a term has to begin
  // anew.
  void begin(std::int64_t term);
  // After the beat was taken in.
  void heard(const NodeHeartbeat& beat);

  // Whether new orders can be given.
  bool is_over();
  // Whom it waits for, as is_over() found last, in words; empty: nobody.
  std::string words() const;
  std::chrono::nanoseconds lasted() const { return parts_.clock.now() - begun_; }
  // Whether anything shows that the API server was put back.
  bool shows_put_back() const { return was_put_back_ || followed_ > ordered_; }
  // Whether what the API server has of earlier terms' orders may be of an earlier state.
  bool leaves_doubt() { return !is_over() || shows_put_back(); }
  // Whether the leader's own Lease showed it, not long before this term: what nodes say does not
  // count here.
  bool was_put_back() const { return was_put_back_ && lasted() < kPutBackCounts; }
  // Whether a person said that the node is not to be listened to, nor waited for.
  bool is_excused(const std::string& node) const;

 private:
  void see_order(const VolumeCopy& copy);
  bool agrees(const NodeHeartbeat& beat) const;
  std::map<std::string, std::string> waited_for() const;

  ClusterParts& parts_;
  kube::Informer<VolumeCopy>& copies_;
  const CopyIndex& index_;
  bool& put_back_;
  bool was_put_back_ = false;
  bool goes_on_ = false;
  bool over_ = false;
  Clock::Instant begun_{};
  Clock::Instant look_again_{};
  std::int64_t term_ = 0;
  std::int64_t ordered_ = 0;      // the highest term of an order, of those before this one
  std::int64_t followed_ = 0;     // the highest that a host has followed
  std::set<std::string> agreed_;  // nodes, while it goes on
  std::map<std::string, std::string> waited_;  // nodes, and why
};

}  // namespace flexlocal::provisioner
