// The grant key's file and grants: the one door between a pod's author and the node's disks. The
// first line of the input is a grant, the rest a key file.
#include "flexvolume/engine/contract/grant.h"

#include "flexvolume/base/text.h"
#include "test/fuzz/property.h"

namespace flexlocal::fuzz {
namespace {

engine::VolumeSpec spec_of_size(std::uint64_t size) {
  return {.name = *engine::VolumeName::of_claim("0b1c2d3e-0000-4000-8000-00000000000a"),
          .cluster_id = "11111111-2222-4333-8444-555555555555",
          .claim_namespace = "shop",
          .pool = "default",
          .size = Bytes(size)};
}

void check_grants(const engine::GrantKeys& keys, std::string_view grant) {
  const engine::VolumeSpec spec = spec_of_size(1);
  const std::string signed_one = keys.sign(spec);
  require(keys.verify(spec, signed_one).ok(), "a grant that was signed is valid");
  require(!keys.verify(spec_of_size(2), signed_one).ok(), "a grant is for one spec");
  // An input has no way to the right 64 digits but to be told them.
  if (const auto forged = keys.verify(spec, grant); !forged)
    require(forged.error().code() == ErrorCode::kDenied, "a wrong grant is denied");
  else
    require(grant.size() == signed_one.size(), "a valid grant has a grant's length");
  for (const std::string& changed : {signed_one + '0', signed_one.substr(1), std::string()})
    require(!keys.verify(spec, changed).ok(), "a grant of another length is not valid");
}

}  // namespace
}  // namespace flexlocal::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flexlocal;  // NOLINT: the one function outside the namespace
  const std::string_view text = fuzz::as_text(data, size);
  const std::string_view grant = text.substr(0, text.find('\n'));
  const std::string_view file = text.substr(std::min(grant.size() + 1, text.size()));
  const auto keys = engine::GrantKeys::parse(file);
  if (keys) {
    fuzz::check_grants(*keys, grant);
    return 0;
  }
  fuzz::require(keys.error().code() == ErrorCode::kInvalid, "a wrong key file is invalid");
  const bool known = keys.error().message() == engine::GrantKeys::parse("").error().message() ||
                     keys.error().message() == engine::GrantKeys::parse("x").error().message();
  fuzz::require(known, "an error is the same whatever the key file holds");
  return 0;
}
