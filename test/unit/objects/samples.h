// Objects of an API server as tests need them: whole, valid, and changed in one place by each test.
#pragma once

#include <string>

#include "flexvolume/base/bytes.h"
#include "provisioner/objects/copy_order.h"
#include "provisioner/objects/node_object.h"
#include "provisioner/objects/objects.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner::test {

inline const std::string kUid = "11111111-2222-3333-4444-555555555555";
inline const std::string kOtherUid = "99999999-2222-3333-4444-555555555555";
inline const std::string kCluster = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
inline const std::string kNode = "node-a";
inline const std::string kUidOfNode = "77777777-2222-3333-4444-555555555555";
inline const NodeIdentity kNodeIdentity{kNode, "host-a", kUidOfNode};
// Which copy sample_spec() is of.
inline const std::string kCopy = "0123456789abcdef";
// So much that no test meets its budget which does not mean to.
inline constexpr Bytes kMuchMemory{1024 * kGiB.count()};

// A claim that this node is asked to serve: 1 GiB of class "local" in namespace "shop".
Claim sample_claim();
// The same, bound to the volume of sample_spec(): what it asks for, and what its status says.
Claim bound_claim(const std::string& requested, const std::string& capacity = "1Gi");
StorageClass sample_class();
engine::VolumeSpec sample_spec(const std::string& uid = kUid, Bytes size = kGiB);

// What sample_claim() gets on this node, as `spec` says.
CopyOrder sample_order(const engine::VolumeSpec& spec = sample_spec());

// A PersistentVolume as sample_spec() gives it, after the API server and the controllers have
// added theirs. `resource_version` rises with every call, as an informer expects it.
std::string volume_text(const engine::VolumeSpec& spec, const std::string& phase);
std::string claim_text(const Claim& claim);
std::string class_text();

Volume decoded_volume(const std::string& text);

// As a store gives it; `copy` must outlive it.
inline KnownCopy borrowed(const VolumeCopy& copy) { return {KnownCopy(), &copy}; }

// `text` with the first `from` replaced; a test that replaces nothing is wrong and throws.
std::string with(std::string text, const std::string& from, const std::string& to);

}  // namespace flexlocal::provisioner::test
