#include "provisioner/controller/grant_secret_plan.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "flexvolume/base/hex.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/grant.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::size_t kKeyBytes = 32;

SecretTrouble gone_under_volumes(std::size_t signed_volumes) {
  return {concat("the Secret ", kGrantSecretName, " is gone, and ", signed_volumes,
                 " PersistentVolume(s) were signed by its keys, so no new one is made: make it "
                 "again from ",
                 engine::kGrantKeyPath,
                 " of a node that has such volumes, with kubectl create "
                 "secret generic flexlocal-grant --from-file=",
                 kGrantSecretKey)};
}

}  // namespace

GrantSecretPlan plan_grant_secret(const std::optional<GrantSecret>& secret,
                                  std::size_t signed_volumes) {
  if (!secret) {
    if (signed_volumes > 0) return gone_under_volumes(signed_volumes);
    return MakeSecret{};
  }
  if (!secret->keys)
    return SecretTrouble{concat("the Secret ", kGrantSecretName, " has no ", kGrantSecretKey,
                                "; delete it, and a key is made if no volume needs an old one")};
  const auto keys = engine::GrantKeys::parse(*secret->keys);
  if (!keys)
    return SecretTrouble{concat("the Secret ", kGrantSecretName, ": ", keys.error().message())};
  if (secret->rotation_asked.empty() || secret->rotation_asked == secret->rotation_done)
    return LeaveSecret{};
  if (keys->count() >= engine::GrantKeys::kMostKeys)
    return SecretTrouble{concat("the Secret ", kGrantSecretName, " has ", keys->count(),
                                " keys, the most there can be, so ", kRotateAnnotation,
                                " is not carried out: remove the last lines of ", kGrantSecretKey,
                                ", those by which no PersistentVolume was signed")};
  return RotateSecret{};
}

std::string make_grant_key() {
  std::array<char, kKeyBytes> bytes{};
  // So few come whole, or not at all: getrandom(2).
  ssize_t got = 0;
  do got = ::getrandom(bytes.data(), bytes.size(), 0);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(bytes.size()))
    throw std::system_error(errno, std::generic_category(), "getrandom");
  return to_hex({bytes.data(), bytes.size()});
}

}  // namespace flexlocal::provisioner
