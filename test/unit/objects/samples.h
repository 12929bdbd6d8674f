// Objects of an API server as tests need them: whole, valid, and changed in one place by each test.
#pragma once

#include <string>

#include "flexvolume/base/bytes.h"
#include "flexvolume/engine/contract/grant.h"
#include "provisioner/objects/objects.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner::test {

inline const std::string kUid = "11111111-2222-3333-4444-555555555555";
inline const std::string kOtherUid = "99999999-2222-3333-4444-555555555555";
inline const std::string kCluster = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
inline const std::string kNode = "node-a";
// So much that no test meets its budget which does not mean to.
inline constexpr Bytes kMuchMemory{1024 * kGiB.count()};

// A claim that this node is asked to serve: 1 GiB of class "local" in namespace "shop".
Claim sample_claim();
// The same, bound to the volume of sample_spec(): what it asks for, and what its status says.
Claim bound_claim(const std::string& requested, const std::string& capacity = "1Gi");
StorageClass sample_class();
engine::VolumeSpec sample_spec(const std::string& uid = kUid, Bytes size = kGiB);

// Lines of a grant key file, and the keys of the first.
inline const std::string kGrantLine =
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";
inline const std::string kOtherGrantLine =
    "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100\n";
engine::GrantKeys sample_keys(const std::string& lines = kGrantLine);

// A PersistentVolume as sample_spec() gives it, after the API server and the controllers have
// added theirs. `resource_version` rises with every call, as an informer expects it.
std::string volume_text(const engine::VolumeSpec& spec, const std::string& phase);
std::string claim_text(const Claim& claim);
std::string class_text();

Volume decoded_volume(const std::string& text);

// `text` with the first `from` replaced; a test that replaces nothing is wrong and throws.
std::string with(std::string text, const std::string& from, const std::string& to);

}  // namespace flexlocal::provisioner::test
