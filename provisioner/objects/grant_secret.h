// The Secret that holds the installation's grant keys: read and written here only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/json.h"

namespace flexlocal::provisioner {

inline constexpr std::string_view kGrantSecretName = "flexlocal-grant";
inline constexpr std::string_view kGrantSecretKey = "grant.key";
// Whoever wants a new key sets this to any text that was not used before.
inline constexpr std::string_view kRotateAnnotation = "flexlocal.io/rotate";
inline constexpr std::string_view kRotatedAnnotation = "flexlocal.io/rotated";

struct GrantSecret {
  std::string uid;
  std::string resource_version;
  std::optional<std::string> keys;  // the text of grant.key, decoded; nullopt: there is none
  std::string rotation_asked;       // annotation flexlocal.io/rotate
  std::string rotation_done;        // the request that was carried out last
};

GrantSecret decode_grant_secret(JsonView object);

// The Secret as it is created, and the merge patch that puts `key` on top of what `secret` has,
// guarded by its version.
std::string grant_secret_json(const std::string& namespace_name, const std::string& key);
std::string rotation_patch(const GrantSecret& secret, const std::string& key);

}  // namespace flexlocal::provisioner
