// The orders of this node's copies as the API server has them, and the answers to them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

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

  // Whether an order that is about to be followed is what holds, by whoever gives it in this very
  // process; an Error: it is not, or that is not known. Without such a one every order holds.
  using Confirm = std::function<kube::Task<Status>(const VolumeCopy& copy)>;
  void confirm_by(Confirm confirm) { confirm_ = std::move(confirm); }

  // The same object as the API server has it now; nothing when it is gone, or another has its name.
  // Confirm's Error where the order does not hold.
  kube::Task<Result<std::optional<VolumeCopy>>> read(const VolumeCopy& known);

  // Writes the status, and returns the object as it is then. kConflict when it has changed since it
  // was read, kNotFound when it is gone, kInvalid when the API server did not keep all of it.
  kube::Task<Result<VolumeCopy>> answer(const VolumeCopy& known, const CopyStatus& status);

 private:
  kube::ApiClient& api_;
  kube::Informer<VolumeCopy>& copies_;
  Confirm confirm_;
};

}  // namespace flexlocal::provisioner
