// Chooses a node for each claim with volumeBindingMode Immediate, as the scheduler does for others:
// by the claim's annotation, after which that node's daemon makes the volume.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "provisioner/controller/claims/immediate_plan.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/cluster_work.h"
#include "provisioner/controller/view/refused_nodes.h"

namespace flexlocal::provisioner {

class ImmediatePlacer {
 public:
  ImmediatePlacer(kube::ApiClient& api, ClusterView& view, const Clock& clock, Log& log,
                  ClusterWork& work)
      : api_(api), view_(view), clock_(clock), log_(log), work_(work) {}

  // Whether the claim is one that somebody must choose a node for.
  bool waits(const Claim& claim) const;

  // One pass over such a claim. A claim that comes back was refused by the node that it had, which
  // is then passed over for a while. False: no node has room now.
  Task<Result<bool>> place(const Claim& claim);

 private:
  // What a claim was sent to a node with. It counts until the node's daemon has had time to say
  // what is free beside the volume.
  struct Assignment {
    std::string node;
    Promise promise;
    std::optional<Clock::Instant> made{};  // when its volume was seen first
  };

  void settle();
  bool is_settled(const std::string& key, Assignment& assignment) const;
  void unassign(const std::string& claim);
  std::string choose(const Claim& claim, const StorageClass& storage_class,
                     const Order& order) const;

  kube::ApiClient& api_;
  ClusterView& view_;
  const Clock& clock_;
  Log& log_;
  ClusterWork& work_;
  std::map<std::string, Assignment> assigned_;  // by claim
  RefusedNodes refused_{clock_};
};

}  // namespace flexlocal::provisioner
