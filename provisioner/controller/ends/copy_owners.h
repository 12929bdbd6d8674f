// Who stands for a copy: its PersistentVolume or its claim, by the lists and by the API server's
// own word. The lists may lag behind.
#pragma once

#include <optional>

#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

class CopyOwners {
 public:
  CopyOwners(kube::ApiClient& api, const ClusterView& view) : api_(api), view_(view) {}

  // By the lists: a PersistentVolume that names this very copy, or any of its volume's name.
  bool has_volume(const CopyOrder& order) const;
  bool has_any_volume(const CopyOrder& order) const;
  // By the lists: the claim is bound to a PersistentVolume that is not there.
  bool has_lost_volume(const VolumeCopy& copy) const;
  // By the lists; nullptr: there is none, as far as they go.
  kube::Found<Claim> claim_of(const CopyOrder& order) const;

  // By the API server: the PersistentVolume of that name, whichever copy it names.
  Task<Result<std::optional<Volume>>> read_volume(const CopyOrder& order) const;
  // By the API server: whether there is a claim of that uid, whatever its name.
  Task<Result<bool>> has_claim(const CopyOrder& order) const;
  // By the API server: whether a claim waits for a copy that was ordered and has no
  // PersistentVolume in the lists, or has it by now.
  Task<Result<bool>> is_needed(const VolumeCopy& copy) const;
  // Whether a living claim is between a copy that was given up and the one that has its place: the
  // mark of the first says so, or that the PersistentVolume names what was withdrawn before. See
  // claims/replacement_plan.h.
  Task<Result<bool>> is_being_replaced(const VolumeCopy& copy) const;

 private:
  Task<Result<bool>> has_named_claim(const CopyOrder& order) const;

  kube::ApiClient& api_;
  const ClusterView& view_;
};

}  // namespace flexlocal::provisioner
