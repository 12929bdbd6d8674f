// What to do with the Secret that holds the installation's grant keys: pure decisions.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "provisioner/objects/grant_secret.h"

namespace flexlocal::provisioner {

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

}  // namespace flexlocal::provisioner
