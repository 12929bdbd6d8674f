// Carries out a growth: the disks, then the PersistentVolume, then the claim's status.
#pragma once

#include <string>

#include "provisioner/growth_plan.h"
#include "provisioner/node_parts.h"

namespace flexlocal::provisioner {

// The order is external-resizer's: the capacity says so when the disks have it (unless somebody
// else was faster, see plan_growth), and the claim's status when the file system has it, too. A
// kill at any step leaves what the next pass completes. kubelet may call expandfs on its own for a
// claim whose status says less than its volume's capacity (pkg/kubelet/volumemanager): the same
// work.
class GrowthWorker {
 public:
  explicit GrowthWorker(NodeParts& parts) : parts_(parts) {}

  // One pass over the claim "namespace/name". An Error means: again, after a pause. What a person
  // must know has then been put on the claim as an event.
  Task<Status> work(const std::string& key);

 private:
  Task<Status> grow(const Claim& claim, const Volume& volume, const Growth& growth);
  struct Fit {
    Bytes size;
    Bytes held;
  };
  Task<Result<Fit>> find_room(const Claim& claim, const Growth& growth);
  Status keep_in_budget(const Claim& claim, const Growth& growth, Bytes held, Bytes size) const;
  // Whether the volume was there to be grown; one that was not is made at its first mount.
  Task<Result<bool>> grow_disks(const Claim& claim, const Growth& growth, Bytes size);
  Task<Status> tell_volume(const Volume& volume, Bytes size);
  Task<Status> conclude(const Claim& claim, const Growth& growth, Bytes size, bool made);
  Task<Status> write_status(const Claim& claim, const std::string& body);
  Error refuse(const Claim& claim, const Error& why);
  void say(const Claim& claim, kube::EventType type, std::string_view reason,
           const std::string& message);

  NodeParts& parts_;
};

}  // namespace flexlocal::provisioner
