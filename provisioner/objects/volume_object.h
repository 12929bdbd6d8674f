// The PersistentVolume as it is written.
#pragma once

#include <string>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "provisioner/objects/copy_order.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// The name of the PersistentVolume that is made for the claim with this uid.
std::string volume_of_claim(const std::string& uid);

// The PersistentVolume of a copy that is to serve, bound to nothing yet; the claim's uid in
// claimRef lets the volume controller bind exactly this pair. All that it was ordered with is in
// its annotation kOrder: an option can never be changed, and a mount goes by the host's record, so
// that which copy it stands for is the only one. `access_modes`: the claim's list, as it stands.
std::string volume_json(const CopyOrder& order, const std::vector<std::string>& access_modes);

// The merge patch that says the volume's capacity, if it still has the version that was decided on.
std::string volume_growth_patch(const Volume& volume, Bytes size);

// The merge patch that lets the volume go, if it still has the version that was decided on.
std::string patch_without_finalizer(const Volume& volume);
// The same, of one that is being deleted while its claim is bound: kube-controller-manager would
// hold it for as long as that is so.
std::string patch_without_protection(const Volume& volume);

}  // namespace flexlocal::provisioner
