// The orders of this node's copies as the API server has them, and the answers to them.
#pragma once

#include <optional>
#include <string>

#include "provisioner/kube/api.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

// The VolumeCopies of one node, for an informer.
kube::ResourceKind copies_of(const std::string& node);

class CopyClient {
 public:
  CopyClient(kube::ApiClient& api, kube::Informer<VolumeCopy>& copies)
      : api_(api), copies_(copies) {}

  // As the watch brought it; nullptr when there is none.
  KnownCopy find(const std::string& name) const { return copies_.get(name); }

  // The same object as the API server has it now; nothing when it is gone, or another has its name.
  kube::Task<Result<std::optional<VolumeCopy>>> read(const VolumeCopy& known);

  // Writes the status, and returns the object as it is then. kConflict when it has changed since it
  // was read, kNotFound when it is gone, kInvalid when the API server did not keep all of it.
  kube::Task<Result<VolumeCopy>> answer(const VolumeCopy& known, const CopyStatus& status);

 private:
  kube::ApiClient& api_;
  kube::Informer<VolumeCopy>& copies_;
};

}  // namespace flexlocal::provisioner
