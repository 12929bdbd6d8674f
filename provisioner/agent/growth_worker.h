// Carries out a growth: the disks, then the PersistentVolume, then the claim's status.
#pragma once

#include <optional>
#include <string>

#include "provisioner/agent/node_parts.h"
#include "provisioner/controller/claims/growth_plan.h"

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
    std::string allocated;  // what the claim's status is to say then: see allocated_for()
  };
  Task<Result<Fit>> find_room(const Claim& claim, const Growth& growth);
  Status keep_in_budget(const Claim& claim, const Growth& growth, Bytes held, Bytes size) const;
  // Whether the volume was there to be grown; one that was not is made at its first mount.
  Task<Result<bool>> grow_disks(const Claim& claim, const Growth& growth, Bytes size);
  // `granted`: what the node gives its word for from now on; nullopt leaves that as it is.
  Task<Status> patch_capacity(const Volume& volume, Bytes size, std::optional<Bytes> granted);
  Task<Status> conclude(const Claim& claim, const Growth& growth, const Fit& fit, bool made);
  Task<Status> complete(const Claim& claim, const Growth& growth, const Fit& fit);
  Task<Status> await_mount(const Claim& claim, const Growth& growth, const Fit& fit);
  Task<Status> settle(const Claim& claim, const Volume& volume, const Settle& settle);
  // The volume does not grow now: Kubernetes is told what it keeps. Returns `why`, after an event.
  Task<Error> fail(const Claim& claim, const Volume& volume, const Growth& growth,
                   const Error& why);
  Task<Status> correct(const Claim& claim, const Volume& volume, const Growth& growth);
  Task<Status> patch_failed(const Claim& claim, Bytes has, bool as_requested);
  Task<Error> refuse(const Claim& claim, const Error& why);
  Task<Status> write_status(const Claim& claim, const std::string& body);
  void record_failure(const Claim& claim, const Error& why);
  void warn_unless_overtaken(const Claim& claim, const Status& corrected);
  void record_event(const Claim& claim, kube::EventType type, std::string_view reason,
                    const std::string& message);

  NodeParts& parts_;
};

}  // namespace flexlocal::provisioner
