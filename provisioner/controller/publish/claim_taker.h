// Takes a claim for this node by one write, as the scheduler would choose this node. What was taken
// counts as used from then on, until its order counts by itself.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/cluster_work.h"

namespace flexlocal::provisioner {

class ClaimTaker {
 public:
  // The largest volume of the class that can be ordered of this node now, but for what it has taken
  // and was not ordered yet; 0: none.
  using OwnRoom = std::function<Bytes(const std::string& storage_class)>;

  ClaimTaker(kube::ApiClient& api, ClusterView& view, OwnRoom own_room, Log& log, ClusterWork& work)
      : api_(api), view_(view), own_room_(std::move(own_room)), log_(log), work_(work) {}

  // The same, less what was taken.
  Bytes room_of(const std::string& storage_class) const;

  // Reads the claim anew: its watch may be late.
  Task<Status> refresh(const Claim& claim);

  enum class Outcome {
    kTaken,
    kNoRoom,  // nothing was written
    kLost     // somebody was faster, or the claim is gone: the watch brings that
  };
  // An Error may be an answer to what was carried out.
  Task<Result<Outcome>> take(const Claim& claim, const Order& order);

 private:
  // Of a claim that was taken and may not be ordered yet.
  struct Taken {
    std::string uid;
    std::string pool;
    Bytes size;
    bool written = false;
  };

  bool is_ordered(const std::string& key, const Taken& taken) const;
  Result<Outcome> not_taken(const Claim& claim, const Error& why);

  kube::ApiClient& api_;
  ClusterView& view_;
  OwnRoom own_room_;
  Log& log_;
  ClusterWork& work_;
  std::map<std::string, Taken> taken_;  // by claim
};

}  // namespace flexlocal::provisioner
