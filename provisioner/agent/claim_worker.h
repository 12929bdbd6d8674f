// Carries out the plan for a claim: makes its PersistentVolume, or says why not.
#pragma once

#include <set>
#include <string>

#include "provisioner/agent/node_parts.h"
#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/objects/copy_order.h"

namespace flexlocal::provisioner {

class ClaimWorker {
 public:
  // To be made before the volumes are followed.
  explicit ClaimWorker(NodeParts& parts);

  // One pass over the claim "namespace/name". An Error means: again, after a pause. What a person
  // must know has then been put on the claim as an event.
  Task<Status> work(const std::string& key);

 private:
  Task<Status> provision(const Claim& claim, const StorageClass& storage_class, const Order& order);
  Task<Status> take_size(const Claim& claim, Order& order);
  Task<Result<Bytes>> find_room(const Claim& claim, const Order& order);
  Status keep_in_budget(const Claim& claim, const Order& order, Bytes size) const;
  Task<Status> create(const Claim& claim, const CopyOrder& order);
  Task<Status> adopt(const Claim& claim, const engine::VolumeSpec& spec);
  Task<void> withdraw_unless_created(const Claim& claim, const engine::VolumeSpec& spec);
  Task<void> withdraw_promise(const Claim& claim, const engine::VolumeSpec& spec);
  Task<Status> hand_back(const Claim& claim, const std::string& why);
  bool has_volume(const Claim& claim) const;
  void look_for_strange(const std::string& volume);
  void count(const Claim& claim, const Order& order, const Status& provisioned,
             Clock::Instant began);
  Status fail_if_marked(const Claim& claim, const Error& why);
  void say(const Claim& claim, kube::EventType type, std::string_view reason,
           const std::string& message);

  NodeParts& parts_;
  std::set<std::string> strange_;  // volumes that are not named after the claim that they are for
};

}  // namespace flexlocal::provisioner
