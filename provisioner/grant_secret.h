// What to do with the Secret that holds the installation's grant keys: pure decisions, and the
// texts that are written.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "provisioner/cluster_objects.h"

namespace flexlocal::provisioner {

inline constexpr std::string_view kGrantSecretName = "flexlocal-grant";
inline constexpr std::string_view kGrantSecretKey = "grant.key";
// Whoever wants a new key sets this to any text that was not used before.
inline constexpr std::string_view kRotateAnnotation = "flexlocal.io/rotate";
inline constexpr std::string_view kRotatedAnnotation = "flexlocal.io/rotated";

struct LeaveSecret {};
struct MakeSecret {};
// A new key on top of those that are there; the request is marked as done with the same write.
struct RotateSecret {};
// Not without a person; `why` says what to do.
struct SecretTrouble {
  std::string why;
};
using GrantSecretPlan = std::variant<LeaveSecret, MakeSecret, RotateSecret, SecretTrouble>;

// Keys that are there are never taken away or replaced: volumes that were signed by a lost key can
// never be mounted again. So no new key is made either while `signed_volumes` PersistentVolumes
// carry a grant and the Secret is gone: somebody must put it back. `secret`: nullopt when the API
// server says that there is none.
GrantSecretPlan plan_grant_secret(const std::optional<GrantSecret>& secret,
                                  std::size_t signed_volumes);

// 64 hexadecimal digits of 32 random bytes from the kernel.
std::string make_grant_key();

// The Secret as it is created, and the merge patch that puts `key` on top of what `secret` has,
// guarded by its version.
std::string grant_secret_json(const std::string& namespace_name, const std::string& key);
std::string rotation_patch(const GrantSecret& secret, const std::string& key);

}  // namespace flexlocal::provisioner
