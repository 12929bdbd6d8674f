#include "provisioner/work/log_subject.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {

LogSubject subject_of(const Claim& claim) {
  return {claim.namespace_name, claim.name,
          claim.volume_name.empty() ? concat("pvc-", claim.uid) : claim.volume_name};
}

LogSubject subject_of(const Volume& volume) {
  return {volume.claim_namespace, volume.claim_name, volume.name};
}

LogSubject subject_of_claim(const std::string& key, const kube::Informer<Claim>& claims) {
  if (const auto claim = claims.get(key)) return subject_of(*claim);
  const std::size_t slash = key.find('/');
  if (slash == std::string::npos) return {{}, key, {}};
  return {key.substr(0, slash), key.substr(slash + 1), {}};
}

LogSubject subject_of_volume(const std::string& name, const kube::Informer<Volume>& volumes) {
  if (const auto volume = volumes.get(name)) return subject_of(*volume);
  return {{}, {}, name};
}

}  // namespace flexlocal::provisioner
