// The PersistentVolume as it is written.
#pragma once

#include <optional>
#include <string>

#include "flexvolume/base/bytes.h"
#include "provisioner/objects/node_object.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// A PersistentVolume in the cluster `cluster_id` for the claim, bound to nothing yet; the claim's
// uid in claimRef lets the volume controller bind exactly this pair. The options never name a
// node: affinity can be given anew with the object, so that a volume can move. `grant`: what the
// grant key says to the spec.
std::string volume_json(const engine::VolumeSpec& spec, const std::string& grant,
                        const Claim& claim, const StorageClass& storage_class,
                        const NodeIdentity& node);

// The merge patch that says the volume's capacity and, where it is given, kGranted, if it still has
// the version that was decided on.
std::string volume_growth_patch(const Volume& volume, Bytes size, std::optional<Bytes> granted);

// The merge patch that lets the volume go, if it still has the version that was decided on.
std::string patch_without_finalizer(const Volume& volume);

}  // namespace flexlocal::provisioner
