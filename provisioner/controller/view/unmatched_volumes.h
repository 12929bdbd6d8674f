// PersistentVolumes of ours that are not named after their claim: most often ones that a person
// made again, of data that was retained.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/claim_plan.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {

class UnmatchedVolumes {
 public:
  // To be made before `volumes` takes anything in, and to be kept as long as it does.
  explicit UnmatchedVolumes(kube::Informer<Volume>& volumes) : volumes_(volumes) {
    volumes.on_change([this](const std::string& name) { look(name); });
  }
  UnmatchedVolumes(const UnmatchedVolumes&) = delete;
  UnmatchedVolumes& operator=(const UnmatchedVolumes&) = delete;

  // Whether one of them is meant for the claim.
  bool have_one_for(const Claim& claim) const {
    return std::ranges::any_of(names_, [&](const std::string& name) {
      const auto volume = volumes_.get(name);
      return volume != nullptr && is_meant_for(*volume, claim);
    });
  }

 private:
  void look(const std::string& name) {
    const auto volume = volumes_.get(name);
    if (volume != nullptr && name != volume_of_claim(volume->claim_uid))
      names_.insert(name);
    else
      names_.erase(name);
  }

  kube::Informer<Volume>& volumes_;
  std::set<std::string> names_;
};

}  // namespace flexlocal::provisioner
