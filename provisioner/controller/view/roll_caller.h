// The roll call: holds back new orders until all nodes have said what they have.
#pragma once

#include <map>
#include <set>
#include <string>

#include "provisioner/controller/claims/roll_call.h"
#include "provisioner/controller/view/copy_index.h"
#include "provisioner/controller/view/node_cache.h"
#include "provisioner/controller/view/roll.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

// A person's word that a node is not waited for: the label of a Node, and its value.
inline constexpr std::string_view kRollCallLabel = "flexlocal.io/roll-call";
inline constexpr std::string_view kRollCallSkip = "skip";

// Whether a person said that the node is not to be listened to, nor waited for; or it is gone.
bool is_excused(const NodeCache& nodes, const std::string& node);

class RollCaller final : public Roll {
 public:
  // To be made before the copies of `index` take anything in, and to be kept as long as they do.
  // `own_node`: of a controller of one node; empty: one leader gives the orders of all.
  // `put_back`: whether the API server was seen to be put back. It outlives the term, and the roll
  // call clears it when it is over.
  RollCaller(const NodeCache& nodes, const CopyIndex& index, std::string own_node,
             const Clock& clock, Log& log, bool& put_back);

  void begin(std::int64_t term) override;
  void heard(const NodeHeartbeat& beat) override;

  bool is_over() override;
  std::optional<std::string> elsewhere(const Claim& /*claim*/) override { return std::nullopt; }
  // The leader's own Lease shows it within seconds, and ends the term.
  kube::Task<Status> confirm() override { co_return Status(); }
  std::string words() const override;
  std::chrono::nanoseconds lasted() const override { return clock_.now() - begun_; }
  bool shows_put_back() const override;
  bool was_put_back() const override { return was_put_back_ && lasted() < kPutBackCounts; }

 private:
  std::string orders_of(const std::string& node) const;
  bool counts(const std::string& whose, std::int64_t term) const;
  void see_order(const VolumeCopy& copy);
  bool agrees(const NodeHeartbeat& beat) const;
  std::map<std::string, std::string> waited_for() const;

  const NodeCache& nodes_;
  const CopyIndex& index_;
  std::string own_node_;
  const Clock& clock_;
  Log& log_;
  bool& put_back_;
  bool was_put_back_ = false;
  bool goes_on_ = false;
  bool over_ = false;
  Clock::Instant begun_{};
  Clock::Instant next_check_{};
  std::int64_t term_ = 0;
  // By whose orders they are, see orders_of(): the highest term of an order, and the highest that a
  // host has followed; of our own orders those before this term.
  struct Terms {
    std::int64_t ordered = 0;
    std::int64_t followed = 0;
  };
  std::map<std::string, Terms> terms_;
  std::set<std::string> agreed_;               // nodes, while it goes on
  std::map<std::string, std::string> waited_;  // nodes, and why
};

}  // namespace flexlocal::provisioner
